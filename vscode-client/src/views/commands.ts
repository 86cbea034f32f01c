/** Commands of the palette that belong to no view. */
import * as vscode from "vscode";
import type { Calls } from "../calls";
import type { Connection } from "../connection";
import { label, plainText } from "../dialogs/plain";
import { shownCall } from "./callLog";
import { ToolCaller } from "./callTool";
import { doctorPage } from "./doctor";
import { LOG, Pages, showPage } from "./pages";
import type { ServerProgram } from "./program";
import { unsavedDocuments } from "./statusBar";

const DOCTOR_MS = 120_000;
const WALKTHROUGH = "openbuffer.openbuffer#openbuffer.start";

export function registerCommands(
  connection: Connection,
  calls: Calls,
  program: ServerProgram,
  editorSettings: () => Record<string, unknown>,
): vscode.Disposable {
  const pages = new Pages(`${LOG}-page`);
  const caller = new ToolCaller(calls, pages);
  const command = (name: string, act: (...args: unknown[]) => unknown) =>
    vscode.commands.registerCommand(`openbuffer.${name}`, async (...args: unknown[]) => {
      try {
        return await act(...args);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        void vscode.window.showErrorMessage(`openbuffer: ${label(why, 500)}`);
        return undefined;
      }
    });
  return vscode.Disposable.from(
    pages,
    command("callTool", (name, args) => caller.run(name, args)),
    command("cancelCall", (id) => cancelCall(calls, id)),
    command("showLog", () => showProgram(program, pages, ["log", "-n", "200"], "openbuffer log")),
    command("showConfiguration", () =>
      showProgram(program, pages, ["config", ...rootArguments()], "openbuffer config", editorLines(editorSettings())),
    ),
    command("doctor", () => doctor(connection, program, pages)),
    command("showUnsaved", showUnsaved),
    command("openWalkthrough", () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false),
    ),
  );
}

function rootArguments(): string[] {
  const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  return root === undefined ? [] : ["--root", root];
}

async function cancelCall(calls: Calls, id: unknown): Promise<void> {
  const named = typeof id === "number" ? calls.running.find((call) => call.id === id) : undefined;
  if (named || typeof id === "number") {
    named?.cancel();
    return;
  }
  const items = calls.running.map((call) => ({
    label: label(call.tool, 40),
    detail: label(JSON.stringify(call.args), 200),
    call,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Cancel a call",
    placeHolder: items.length ? "Which one?" : "No call is under way",
  });
  chosen?.call.cancel();
}

/** The settings that the program does not see: the user's in this editor. */
function editorLines(settings: Record<string, unknown>): string {
  const lines = Object.entries(settings).flatMap(([table, values]) =>
    typeof values === "object" && values !== null && !Array.isArray(values)
      ? Object.entries(values).map(([key, value]) => `${table}.${key} = ${JSON.stringify(value)}`)
      : [`${table} = ${JSON.stringify(values)}`],
  );
  const how = vscode.workspace.isTrusted
    ? "count over these"
    : "can only make these stricter: the workspace is not trusted";
  return lines.length === 0 ? "" : ["", `Your settings in this editor ${how}:`, ...lines].join("\n");
}

/** What the program prints, as a page; with `further`, which is said besides, by the configuration that it is given. */
async function showProgram(
  program: ServerProgram,
  pages: Pages,
  subcommand: readonly string[],
  name: string,
  further?: string,
): Promise<void> {
  const answer = await program.run(subcommand, undefined, further !== undefined);
  const said = [answer.stdout, answer.stderr, further ?? ""].filter((text) => text.trim() !== "").join("\n");
  const uri = pages.set(name, shownCall(said || "nothing is recorded yet"));
  await showPage(uri, { preview: true });
}

async function doctor(connection: Connection, program: ServerProgram, pages: Pages): Promise<void> {
  const facts = [
    `Server: ${connection.state}${connection.server ? `, version ${connection.server.version}, from ${connection.server.from}` : ""}`,
    ...(connection.problem ? [connection.problem.message] : []),
    `Workspace: ${vscode.workspace.isTrusted ? "trusted" : "not trusted, so that tools with effects are withheld"}`,
  ];
  const answer = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "openbuffer: the doctor looks" },
    () => program.run(["doctor", "--json", ...rootArguments()], DOCTOR_MS, true),
  );
  const page = doctorPage(answer.stdout, facts) ?? plainText(`${answer.stdout}\n${answer.stderr}`);
  const uri = pages.set("openbuffer doctor.md", page);
  await vscode.commands.executeCommand("markdown.showPreview", uri);
}

async function showUnsaved(): Promise<void> {
  const documents = unsavedDocuments();
  const items = documents.map((document) => ({
    label: label(vscode.workspace.asRelativePath(document.uri), 120),
    description: `${document.lineCount} lines`,
    document,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Unsaved documents, as the tools see them",
    placeHolder: items.length > 0 ? "Go to" : "There is none",
  });
  if (chosen) {
    await vscode.window.showTextDocument(chosen.document);
  }
}
