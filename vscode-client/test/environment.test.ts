import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundledWheel, inWords, PrivateEnvironments } from "../src/server/environment";

let root: string;
const SHA = "a".repeat(64);

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "openbuffer-environment-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A program of a directory that stands for PATH. */
function program(name: string, script: string): string {
  const file = path.join(root, "path", name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function environments(sha256 = SHA) {
  const storage = path.join(root, "storage");
  const made = new PrivateEnvironments(storage, { file: path.join(root, "openbuffer.whl"), sha256 });
  return { storage, made, plan: () => made.plan(path.join(root, "path")) };
}

describe("how the private environment would be made", () => {
  it("is by uv where it is there", async () => {
    const uv = program("uv", "exit 0");
    const { made, plan } = environments();
    expect((await plan()).steps).toEqual([
      [uv, "venv", "--clear", "--no-project", "--python", ">=3.11", made.directory],
      [uv, "pip", "install", "--python", path.join(made.directory, "bin", "python"), path.join(root, "openbuffer.whl")],
    ]);
  });

  it("is by the newest Python that is new enough", async () => {
    const python = program("python3.12", "exit 0");
    program("python3", "exit 0");
    expect((await environments().plan()).steps[0]?.slice(0, 3)).toEqual([python, "-m", "venv"]);
  });

  it("is with the pip of a Python that cannot bring one", async () => {
    const python = program("python3", 'case "$2" in *ensurepip*) exit 1;; esac');
    const { steps } = await environments().plan();
    expect(steps[0]).toContain("--without-pip");
    expect(steps[1]?.slice(0, 4)).toEqual([python, "-m", "pip", "--python"]);
  });

  it("is told to be impossible without Python, and with a Python that is too old", async () => {
    await expect(environments().plan()).rejects.toThrow(/neither uv nor a Python/);
    program("python3", "exit 1");
    await expect(environments().plan()).rejects.toThrow(/3\.11 or newer/);
  });
});

describe("the private environment", () => {
  it("counts once every step was carried out, and replaces those of other wheels", async () => {
    const uv = program("uv", `for last; do :; done; case "$1" in venv) mkdir -p "$last/bin";; esac`);
    const old = environments("b".repeat(64));
    await old.made.install(await old.plan(), () => {}, new AbortController().signal);
    const { made, storage, plan } = environments();
    expect(await made.hasOlder()).toBe(true);
    expect(path.basename(made.program)).not.toBe("openbuffer");
    const told: string[] = [];
    await made.install(await plan(), (words) => told.push(words), new AbortController().signal);
    expect(told).toHaveLength(2);
    expect(told[0]).toContain(uv);
    expect(made.program).toBe(path.join(made.directory, "bin", "openbuffer"));
    expect(readdirSync(storage)).toEqual([path.basename(made.directory)]);
    expect(await made.hasOlder()).toBe(false);
  });

  it("does not count where a step failed, which is told with what it said", async () => {
    program("uv", `echo "no network here" >&2; exit 2`);
    const { made, plan } = environments();
    const installed = plan().then((steps) => made.install(steps, () => {}, new AbortController().signal));
    await expect(installed).rejects.toThrow(/uv venv .* failed: no network here/);
    expect(path.basename(made.program)).not.toBe("openbuffer");
  });

  it("is not made to the end where that is cancelled", async () => {
    const started = path.join(root, "started");
    program("uv", `touch ${started}; exec sleep 60`);
    const { made, plan } = environments();
    const abort = new AbortController();
    const installed = plan().then((steps) => made.install(steps, () => {}, abort.signal));
    const outcome = installed.catch((error: Error) => error.name);
    while (!existsSync(started)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    abort.abort();
    expect(await outcome).toBe("AbortError");
    expect(path.basename(made.program)).not.toBe("openbuffer");
  });
});

describe("the wheel that the extension brings", () => {
  it("is the one that is named beside it", async () => {
    mkdirSync(path.join(root, "wheel"));
    writeFileSync(path.join(root, "wheel", "wheel.json"), JSON.stringify({ file: "o.whl", sha256: SHA }));
    expect(await bundledWheel(root)).toEqual({ file: path.join(root, "wheel", "o.whl"), sha256: SHA });
  });

  it("may be missing", async () => {
    expect(await bundledWheel(root)).toBeUndefined();
  });
});

it("a command is shown as one would type it", () => {
  expect(inWords(["/usr/bin/uv", "pip", "a b", "--python", ">=3.11"])).toBe('/usr/bin/uv pip "a b" --python ">=3.11"');
});
