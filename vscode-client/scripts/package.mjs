/** Makes `openbuffer-VERSION.vsix`, with the wheel of the server inside; `npm run wheel` has to have made that. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createVSIX } from "@vscode/vsce";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { name, version } = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));
await createVSIX({
  cwd: here,
  packagePath: path.join(here, `${name}-${version}.vsix`),
  // Everything is in the bundle.
  dependencies: false,
  allowMissingRepository: true,
  rewriteRelativeLinks: false,
});
