/**
 * Makes `openbuffer-VERSION.vsix`, with the wheel of the server inside; `npm run wheel` has to have made that.
 *
 * It is packed from a directory of its own, in which the README has no pictures: the page of an installed extension shows
 * none that are not on the web, and would say so in their place.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createVSIX } from "@vscode/vsce";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const stage = path.join(here, "dist", "package");
const [target] = process.argv.slice(2);

const manifest = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));
const { name, version } = manifest;
// What is of no use to an installed extension.
delete manifest.scripts;
delete manifest.devDependencies;

const readme = readFileSync(path.join(here, "README.md"), "utf8").replaceAll(/^!\[[^\]]*\]\(media\/[^)]*\)\n\n/gm, "");

rmSync(stage, { recursive: true, force: true });
mkdirSync(path.join(stage, "dist"), { recursive: true });
const bundles = ["extension.js", "languageclient.js", "THIRD-PARTY-NOTICES.txt"].map((file) => `dist/${file}`);
for (const part of [".vscodeignore", "LICENSE", ...bundles, "media", "wheel"]) {
  cpSync(path.join(here, part), path.join(stage, part), { recursive: true });
}
rmSync(path.join(stage, "media", "screenshots"), { recursive: true });
writeFileSync(path.join(stage, "package.json"), JSON.stringify(manifest));
writeFileSync(path.join(stage, "README.md"), readme);

await createVSIX({
  cwd: stage,
  packagePath: path.resolve(here, target ?? `${name}-${version}.vsix`),
  // Everything is in the bundle.
  dependencies: false,
  allowMissingRepository: true,
  rewriteRelativeLinks: false,
});
