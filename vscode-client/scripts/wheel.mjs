/** Builds the wheel of the server from this repository into `wheel/`, where the extension finds it. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.dirname(here);
const target = path.join(here, "wheel");
const SOURCES = ["pyproject.toml", "README.md", "LICENSE", "bridge", "editor_access", "sandbox", "tools"];

const PYTHONS = [process.env.PYTHON, "python3", path.join(repository, ".venv/bin/python"), "python"];

// Not in the repository: what an earlier build left there would go into the wheel.
const copy = mkdtempSync(path.join(tmpdir(), "openbuffer-wheel-"));
try {
  for (const name of SOURCES) {
    cpSync(path.join(repository, name), path.join(copy, name), {
      recursive: true,
      filter: (source) => path.basename(source) !== "__pycache__",
    });
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  const [program, ...rest] = builder(copy);
  // The same sources make the same wheel.
  execFileSync(program, rest, { stdio: "inherit", env: { ...process.env, SOURCE_DATE_EPOCH: "1700000000" } });
  const wheel = readdirSync(target).find((name) => name.endsWith(".whl"));
  const sha256 = createHash("sha256")
    .update(readFileSync(path.join(target, wheel)))
    .digest("hex");
  writeFileSync(path.join(target, "wheel.json"), `${JSON.stringify({ file: wheel, sha256 }, undefined, 2)}\n`);
  console.log(`wheel/${wheel}`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}

/** The command that builds a wheel of `source`: of a Python that has pip, else of uv. */
function builder(source) {
  const python = PYTHONS.find((candidate) => candidate && works([candidate, "-c", "import pip"]));
  if (python !== undefined) {
    const quiet = ["--quiet", "--disable-pip-version-check"];
    return [python, "-m", "pip", "wheel", ...quiet, "--no-deps", "--wheel-dir", target, source];
  }
  if (works(["uv", "--version"])) {
    return ["uv", "build", "--quiet", "--wheel", "--out-dir", target, source];
  }
  throw new Error("a Python with pip, or uv, is needed to build the wheel; $PYTHON can name the first");
}

function works([program, ...rest]) {
  try {
    execFileSync(program, rest, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
