/** Bundles the extension: `--production` minifies, `--watch` goes on, `--meta` writes what the bundle is made of. */
import { writeFile } from "node:fs/promises";
import { build, context } from "esbuild";

const has = (flag) => process.argv.includes(flag);

/** @type {import("esbuild").BuildOptions} */
const options = {
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
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

if (has("--watch")) {
  await (await context(options)).watch();
} else {
  const result = await build(options);
  if (result.metafile) {
    await writeFile("dist/meta.json", JSON.stringify(result.metafile));
  }
}
