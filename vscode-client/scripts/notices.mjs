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
  const { name, version, license } = JSON.parse(readFileSync(path.join(here, directory, "package.json"), "utf8"));
  const file = readdirSync(path.join(here, directory)).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (file === undefined) {
    throw new Error(`${name} ${version} (${license}) has no file with its licence`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(path.join(here, directory, file), "utf8").trim()}\n`;
});
const text = notices.join(`\n${"-".repeat(80)}\n\n`);
writeFileSync(
  path.join(dist, "THIRD-PARTY-NOTICES.txt"),
  `What the code of this extension holds of others:\n\n${text}`,
);
