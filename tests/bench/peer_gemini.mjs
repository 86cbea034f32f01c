// Runs gemini-cli's own read, edit, glob and grep tools: `node peer_gemini.mjs LIBRARY WORKSPACE`, one JSON line in,
// one out, as in peer_worker.py. The configuration is the one that the library's own tests use: no model, no telemetry.
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";

const [library, workspace] = process.argv.slice(2);
process.stdout.write = process.stderr.write.bind(process.stderr); // what the library prints must not get between answers
const load = async (file) => import(`${library}/${file}`);
const { makeFakeConfig } = await load("test-utils/config.js");
const { ReadFileTool } = await load("tools/read-file.js");
const { EditTool } = await load("tools/edit.js");
const { GrepTool } = await load("tools/grep.js");
const { GlobTool } = await load("tools/glob.js");

const config = makeFakeConfig({ targetDir: workspace, cwd: workspace, disableLLMCorrection: true });
const reader = new ReadFileTool(config, undefined);
const editor = new EditTool(config, undefined);
const searcher = new GrepTool(config, undefined);
const globber = new GlobTool(config, undefined);

async function work(order) {
  const abortSignal = new AbortController().signal;
  const [start, used] = [performance.now(), process.cpuUsage()];
  const invocation = built(order);
  const result = await invocation.execute({ abortSignal });
  const { user, system } = process.cpuUsage(used);
  const seconds = order.cpu ? (user + system) / 1e6 : (performance.now() - start) / 1000;
  if (result.error) return { reason: `refuses: ${result.error.message.slice(0, 100)}` };
  if (order.expect && !result.llmContent.includes(order.expect)) return { reason: "answered something else" };
  return { seconds };
}

function built(order) {
  switch (order.op) {
    case "glob":
      return globber.build({ pattern: order.pattern });
    case "grep":
      return searcher.build({ pattern: order.pattern });
    case "edit":
      return editor.build({ file_path: order.path, instruction: "bench", old_string: order.old, new_string: order.new });
    default:
      return reader.build({ file_path: order.path, start_line: order.first, end_line: order.last });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await work(JSON.parse(line));
  } catch (error) {
    answer = { reason: `failed: ${String(error).slice(0, 100)}` };
  }
  writeSync(1, `${JSON.stringify(answer)}\n`);
}
process.exit(0);
