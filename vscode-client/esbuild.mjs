/** Bundles the extension: `--production` minifies, `--watch` goes on, `--meta` writes what the bundles are made of. */
import { writeFile } from "node:fs/promises";
import { build, context } from "esbuild";

const has = (flag) => process.argv.includes(flag);
const CLIENT = "vscode-languageclient/node";

/** @type {import("esbuild").BuildOptions} */
const common = {
  bundle: true,
  format: "cjs",
  platform: "node",
  // What the extension hosts of the oldest supported version run.
  target: "node20",
  external: ["vscode"],
  // The package's own build for Node is CommonJS; the condition keeps its browser build out.
  conditions: ["node"],
  minify: has("--production"),
  keepNames: true,
  sourcemap: has("--production") ? false : "linked",
  metafile: has("--meta"),
  logLevel: "info",
};

/** The language client is most of the code, and is not needed before the server starts: it is a file of its own. */
const apart = {
  name: "language-client-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^vscode-languageclient(\/node)?$/ }, () => ({ path: "./languageclient.js", external: true }));
  },
};

/** @type {import("esbuild").BuildOptions[]} */
const bundles = [
  { ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", plugins: [apart] },
  {
    ...common,
    stdin: { contents: `module.exports = require("${CLIENT}");`, resolveDir: import.meta.dirname },
    outfile: "dist/languageclient.js",
  },
];

for (const options of bundles) {
  if (has("--watch")) {
    await (await context(options)).watch();
  } else {
    const { metafile } = await build(options);
    if (metafile) {
      await writeFile(`${options.outfile.slice(0, -3)}.meta.json`, JSON.stringify(metafile));
    }
  }
}
