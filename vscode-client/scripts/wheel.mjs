/** Builds the wheel of the server from this repository into `wheel/`, where the extension finds it. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.dirname(here);
const target = path.join(here, "wheel");
const SOURCES = ["pyproject.toml", "README.md", "LICENSE", "bridge", "editor_access", "sandbox", "tools"];

const python = [process.env.PYTHON, path.join(repository, ".venv/bin/python"), "python3"].find(
  (candidate) => candidate && (!path.isAbsolute(candidate) || existsSync(candidate)),
);
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
  const quiet = ["--quiet", "--disable-pip-version-check"];
  execFileSync(python, ["-m", "pip", "wheel", ...quiet, "--no-deps", "--wheel-dir", target, copy], {
    stdio: "inherit",
    env: { ...process.env, SOURCE_DATE_EPOCH: "1700000000" },
  });
  const wheel = readdirSync(target).find((name) => name.endsWith(".whl"));
  const sha256 = createHash("sha256")
    .update(readFileSync(path.join(target, wheel)))
    .digest("hex");
  writeFileSync(path.join(target, "wheel.json"), `${JSON.stringify({ file: wheel, sha256 }, undefined, 2)}\n`);
  console.log(`wheel/${wheel}`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
