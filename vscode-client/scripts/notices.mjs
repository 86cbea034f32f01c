/** Writes the licences of what is in the bundles to `dist/THIRD-PARTY-NOTICES.txt`; `esbuild.mjs --meta` tells what that is. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(here, "dist");

const inputs = readdirSync(dist)
  .filter((name) => name.endsWith(".meta.json"))
  .flatMap((name) => Object.keys(JSON.parse(readFileSync(path.join(dist, name), "utf8")).inputs));
const packages = new Set(
  inputs.map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]).filter(Boolean),
);
const notices = [...packages].sort().map((directory) => {
  const { name, version, license, author } = JSON.parse(
    readFileSync(path.join(here, directory, "package.json"), "utf8"),
  );
  if (!license) {
    throw new Error(`${name} ${version} does not say what its licence is`);
  }
  const file = readdirSync(path.join(here, directory)).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  // One package says its licence by its name alone.
  const terms = file ? readFileSync(path.join(here, directory, file), "utf8").trim() : `By ${author?.name ?? author}`;
  return `${name} ${version} (${license})\n\n${terms}\n`;
});
const text = notices.join(`\n${"-".repeat(80)}\n\n`);
writeFileSync(
  path.join(dist, "THIRD-PARTY-NOTICES.txt"),
  `What the code of this extension holds of others:\n\n${text}`,
);
