/** The item in the status bar, and the menu behind it. */
import * as vscode from "vscode";
import type { Calls } from "../calls";
import type { Connection } from "../connection";
import type { Dialogs } from "../dialogs/dialogs";
import { label } from "../dialogs/plain";
import type { Configuration } from "./configuration";
import { statusText, unsavedInWords } from "./statusText";

const SETTLES_MS = 100;
const SCHEMES = new Set(["file", "untitled"]);

export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("openbuffer.status", vscode.StatusBarAlignment.Right, 100);
  readonly #parts: vscode.Disposable;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly calls: Calls,
    private readonly dialogs: Dialogs,
    private readonly configuration: Configuration,
  ) {
    const soon = () => this.#soon();
    this.#item.name = "openbuffer";
    this.#item.command = "openbuffer.menu";
    this.#parts = vscode.Disposable.from(
      this.#item,
      connection.onDidChangeState(soon),
      calls.onDidStartCall(soon),
      calls.onDidFinishCall(soon),
      dialogs.onDidChange(soon),
      configuration.onDidChange(soon),
      vscode.workspace.onDidChangeTextDocument(soon),
      vscode.workspace.onDidSaveTextDocument(soon),
      vscode.workspace.onDidCloseTextDocument(soon),
      vscode.workspace.onDidGrantWorkspaceTrust(soon),
      vscode.commands.registerCommand("openbuffer.menu", () => this.#menu()),
    );
    this.#refresh();
    this.#item.show();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#parts.dispose();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#refresh();
    }, SETTLES_MS);
  }

  #refresh(): void {
    const { text, background, tooltip, words } = statusText({
      state: this.connection.state,
      problem: this.connection.problem,
      server: this.connection.server,
      waiting: this.dialogs.waiting,
      running: this.calls.running.map(({ tool }) => tool),
      unsaved: unsavedDocuments().length,
      sandbox: this.configuration.sandbox,
      isTrusted: vscode.workspace.isTrusted,
    });
    this.#item.text = text;
    this.#item.tooltip = new vscode.MarkdownString(tooltip);
    this.#item.accessibilityInformation = { label: words };
    this.#item.backgroundColor = background && new vscode.ThemeColor(`statusBarItem.${background}Background`);
    this.#item.command = this.dialogs.waiting.length > 0 ? "openbuffer.answer" : "openbuffer.menu";
  }

  async #menu(): Promise<void> {
    type Item = vscode.QuickPickItem & { command?: string; args?: readonly unknown[] };
    const { problem, server, state } = this.connection;
    const separator = (words: string): Item => ({ label: words, kind: vscode.QuickPickItemKind.Separator });
    const waiting: Item[] = this.dialogs.waiting.length
      ? [{ label: "$(question) Answer", description: this.dialogs.waiting[0], command: "openbuffer.answer" }]
      : [];
    const fixes: Item[] = (problem?.actions ?? []).map(({ title, command, arguments: args }) => ({
      label: `$(lightbulb) ${title}`,
      command,
      args,
    }));
    const running: Item[] = this.calls.running.map((call) => ({
      label: `$(stop-circle) Cancel ${label(call.tool, 40)}`,
      description: call.lastProgress?.message ? label(call.lastProgress.message, 80) : undefined,
      command: "openbuffer.cancelCall",
      args: [call.id],
    }));
    const about = problem ? label(problem.message, 200) : server ? `${server.version}, from ${server.from}` : state;
    const items: Item[] = [
      ...waiting,
      ...running,
      ...fixes,
      separator("tools"),
      { label: "$(play) Call a Tool…", command: "openbuffer.callTool" },
      {
        label: "$(history) Sessions and Calls",
        description: "with the change of each",
        command: "openbuffer.calls.focus",
      },
      {
        label: "$(circle-filled) Unsaved Documents",
        description: unsavedInWords(unsavedDocuments().length),
        command: "openbuffer.showUnsaved",
      },
      separator("server"),
      { label: "$(refresh) Restart Server", description: about, command: "openbuffer.restartServer" },
      { label: "$(output) Show Output", command: "openbuffer.showOutput" },
      {
        label: "$(pulse) Doctor",
        description: "what works here, and how to get what does not",
        command: "openbuffer.doctor",
      },
      {
        label: "$(shield) Settings as They Hold",
        description: `sandbox ${this.configuration.sandbox ?? "not known"}`,
        command: "openbuffer.showConfiguration",
      },
      { label: "$(gear) Open Settings", command: "workbench.action.openSettings", args: ["openbuffer."] },
      { label: "$(book) Walkthrough", command: "openbuffer.openWalkthrough" },
    ];
    const chosen = await vscode.window.showQuickPick(items, { title: "openbuffer", placeHolder: about });
    if (chosen?.command) {
      await vscode.commands.executeCommand(chosen.command, ...(chosen.args ?? []));
    }
  }
}

/** Documents with unsaved text that the server is told of. */
export function unsavedDocuments(): vscode.TextDocument[] {
  return vscode.workspace.textDocuments.filter(
    ({ isDirty, isClosed, uri }) => isDirty && !isClosed && SCHEMES.has(uri.scheme),
  );
}
