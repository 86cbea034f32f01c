// Runs what the tests ask for inside the extension host. Their code comes over the loopback, with a token that is known only to
// who reads the file that is written here.
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const vscode = require("vscode");

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
// What code of the tests keeps between calls: `probe.anything`.
const probe = { host: process.pid };

exports.activate = async (context) => {
  const directory = process.env.OPENBUFFER_PROBE_DIRECTORY;
  if (!directory) return;
  registerScriptedModel(context);
  const token = crypto.randomBytes(16).toString("hex");
  const server = http.createServer((request, response) => answer(request, response, token));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.subscriptions.push({ dispose: () => server.close() });
  const known = {
    port: server.address().port,
    token,
    pid: process.pid,
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
  };
  const file = path.join(directory, `${process.pid}.json`);
  fs.writeFileSync(`${file}.new`, JSON.stringify(known));
  fs.renameSync(`${file}.new`, file);
};

async function answer(request, response, token) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (request.method !== "POST" || request.headers["x-token"] !== token) {
    response.writeHead(403).end();
    return;
  }
  let result;
  try {
    const { source, args } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const value = await new AsyncFunction("vscode", "probe", "require", "args", source)(vscode, probe, require, args);
    result = { value: value === undefined ? null : value };
  } catch (error) {
    result = { error: `${error?.name}: ${error?.message ?? error}\n${error?.stack ?? ""}` };
  }
  const body = Buffer.from(JSON.stringify(result), "utf8");
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
}

// A model for the editor's own agent. It says what `probe.script` says next: {tool, input} or {text}; what it was sent is
// kept in `probe.heard`.
function registerScriptedModel(context) {
  probe.script = [];
  probe.heard = [];
  if (!vscode.lm?.registerLanguageModelChatProvider) return;
  let calls = 0;
  const provider = {
    provideLanguageModelChatInformation: async () => [
      {
        id: "scripted",
        name: "Scripted",
        family: "scripted",
        version: "1",
        maxInputTokens: 200000,
        maxOutputTokens: 8000,
        capabilities: { toolCalling: true, imageInput: false },
      },
    ],
    provideLanguageModelChatResponse: async (_model, messages, options, progress) => {
      const parts = messages.flatMap((message) => [...message.content].map((part) => told(message.role, part)));
      probe.heard.push({ tools: (options.tools ?? []).map((tool) => tool.name), parts });
      const next = options.tools?.length ? probe.script.shift() : undefined;
      if (next?.tool) {
        calls += 1;
        progress.report(new vscode.LanguageModelToolCallPart(`call${calls}`, next.tool, next.input));
      } else {
        progress.report(new vscode.LanguageModelTextPart(next?.text ?? "There is nothing more to say."));
      }
    },
    provideTokenCount: async () => 1,
  };
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("openbuffer-probe", provider));
}

function told(role, part) {
  if (part instanceof vscode.LanguageModelTextPart) return { role, text: part.value };
  if (part instanceof vscode.LanguageModelToolCallPart) return { role, calls: part.name, input: part.input };
  if (part instanceof vscode.LanguageModelToolResultPart) {
    return { role, result: part.content.map((piece) => piece.value ?? "").join("") };
  }
  return { role };
}
