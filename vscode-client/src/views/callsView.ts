/** The tree of what waits, what runs, and the sessions with their calls; each change opens in the diff editor. */
import { readFile, realpath } from "node:fs/promises";
import * as vscode from "vscode";
import type { Calls, RunningCall } from "../calls";
import type { Connection } from "../connection";
import { currentText } from "../dialogs/currentText";
import type { Dialogs } from "../dialogs/dialogs";
import { nameOf } from "../dialogs/permission";
import { label, plainText } from "../dialogs/plain";
import { sidesOf, withHunks } from "../dialogs/proposal";
import { invocationMessage } from "../languageModelTools/confirmation";
import {
  aboutOf,
  bySession,
  type ChangeFound,
  changeOf,
  changesFile,
  iconOf,
  type LoggedCall,
  pathOf,
  readCalls,
  type SessionOfCalls,
  shownCall,
  titleOfSession,
  tooltipOf,
  type WholeCall,
  whenOf,
} from "./callLog";
import { LOG, Pages, showPage } from "./pages";
import type { ServerProgram } from "./program";

const CALLS_MOST = 300;
const SETTLES_MS = 400;

type Node =
  | { readonly kind: "waiting"; readonly title: string }
  | { readonly kind: "running"; readonly call: RunningCall }
  | { readonly kind: "session"; readonly session: SessionOfCalls }
  | { readonly kind: "call"; readonly call: LoggedCall }
  | { readonly kind: "trouble"; readonly message: string };

export class CallsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #pages = new Pages(LOG);
  readonly #view: vscode.TreeView<Node>;
  readonly #parts: vscode.Disposable;
  #sessions: readonly SessionOfCalls[] = [];
  #trouble: string | undefined;
  #isOld = true;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  /** Processes that are this window's server, or were started by it. */
  #own: ReadonlySet<number> = new Set();

  constructor(
    private readonly connection: Connection,
    private readonly calls: Calls,
    private readonly dialogs: Dialogs,
    private readonly program: ServerProgram,
  ) {
    this.#view = vscode.window.createTreeView("openbuffer.calls", { treeDataProvider: this, showCollapseAll: true });
    const command = (name: string, act: (node: Node | undefined) => Promise<unknown> | unknown) =>
      vscode.commands.registerCommand(`openbuffer.calls.${name}`, act);
    this.#parts = vscode.Disposable.from(
      this.#view,
      this.#pages,
      this.#changed,
      this.#view.onDidChangeVisibility(({ visible }) => visible && this.#isOld && this.refresh()),
      calls.onDidStartCall(() => this.#changed.fire()),
      calls.onDidFinishCall(() => this.refresh()),
      dialogs.onDidChange(() => this.#tellWaiting()),
      connection.onDidChangeState(() => this.refresh()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.refresh()),
      command("refresh", () => this.refresh()),
      command("openChange", (node) => this.#withCall(node, (call) => this.#openChange(call))),
      command("showDetails", (node) => this.#withCall(node, (call) => this.#showDetails(call))),
      command("openFile", (node) => this.#withCall(node, (call) => openFile(call))),
      command("cancel", (node) => node?.kind === "running" && node.call.cancel()),
    );
  }

  /** Read the log again, soon; several wishes are one. */
  refresh(): void {
    this.#isOld = true;
    this.#changed.fire();
    if (!this.#view.visible) {
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), SETTLES_MS);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node?.kind === "session") {
      return node.session.calls.map((call) => ({ kind: "call", call }));
    }
    if (node) {
      return [];
    }
    if (this.#isOld && this.#sessions.length === 0 && this.#trouble === undefined) {
      await this.#read();
    }
    const trouble: Node[] = this.#trouble === undefined ? [] : [{ kind: "trouble", message: this.#trouble }];
    return [
      ...this.dialogs.waiting.map((title): Node => ({ kind: "waiting", title })),
      ...this.calls.running.map((call): Node => ({ kind: "running", call })),
      ...trouble,
      ...this.#sessions.map((session): Node => ({ kind: "session", session })),
    ];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "waiting":
        return waitingItem(node.title);
      case "running":
        return runningItem(node.call);
      case "session":
        return this.#sessionItem(node.session);
      case "call":
        return callItem(node);
      default: {
        const item = new vscode.TreeItem(label(node.message, 200));
        item.iconPath = new vscode.ThemeIcon("warning");
        item.tooltip = node.message;
        return item;
      }
    }
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#parts.dispose();
  }

  #sessionItem(session: SessionOfCalls): vscode.TreeItem {
    const isOwn = session.session.alive && this.#own.has(session.session.process);
    const title = titleOfSession(session, isOwn);
    const state = isOwn ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(title, state);
    item.id = session.session.key;
    item.description = `${session.calls.length} ${session.calls.length === 1 ? "call" : "calls"}`;
    item.iconPath = new vscode.ThemeIcon(isOwn ? "window" : session.session.face === "call" ? "terminal" : "history");
    item.contextValue = "session";
    return item;
  }

  #tellWaiting(): void {
    const count = this.dialogs.waiting.length;
    this.#view.badge = count > 0 ? { value: count, tooltip: `${count} waiting for your answer` } : undefined;
    this.#changed.fire();
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readLog().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readLog(): Promise<void> {
    this.#isOld = false;
    try {
      const answer = await this.program.run(["log", "--json", "-n", String(CALLS_MOST)]);
      this.#sessions = bySession(readCalls(answer.stdout), await rootsOfWindow());
      this.#own = await serverProcesses(this.#sessions, this.connection.server?.processId);
      this.#trouble = answer.code === 0 ? undefined : answer.stderr.trim() || "The log cannot be read.";
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error);
    }
    this.#changed.fire();
  }

  async #withCall(node: Node | undefined, act: (call: LoggedCall) => Promise<unknown>): Promise<void> {
    if (node?.kind !== "call") {
      return;
    }
    try {
      await act(node.call);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      void vscode.window.showErrorMessage(`openbuffer: ${label(why, 500)}`);
    }
  }

  async #openChange(call: LoggedCall): Promise<void> {
    const [answer, kept] = await Promise.all([
      this.program.run(["log", "show", String(call.number), "--json"]),
      this.program.run(["log", "show", String(call.number), "--before"]),
    ]);
    const whole = answer.code === 0 ? (JSON.parse(answer.stdout) as WholeCall) : undefined;
    const found = whole && changeOf(whole);
    if (!found || found.hunks.length === 0) {
      return this.#showDetails(call);
    }
    const before = await textBefore(found, kept.code === 0 ? kept.stdout : undefined);
    const sides = sidesOf(before, found.hunks, true);
    const name = nameOf(found.change.path);
    const left = this.#pages.set(`${call.number}/before/${name}`, sides.before);
    const right = this.#pages.set(`${call.number}/after/${name}`, sides.after);
    const title = `${name}: ${call.tool}, ${whenOf(call.at)}${sides.isWholeText ? "" : ", the places alone"}`;
    await vscode.commands.executeCommand("vscode.diff", left, right, title, { preview: true });
  }

  async #showDetails(call: LoggedCall): Promise<void> {
    const answer = await this.program.run(["log", "show", String(call.number)]);
    const text = answer.code === 0 ? shownCall(answer.stdout) : `${plainText(answer.stderr)}\n`;
    const uri = this.#pages.set(`Call ${call.number} (${call.tool})`, text);
    await showPage(uri, { preview: true });
  }
}

/** The whole text from before: as the log kept it; else what the file holds now, if these are its places still. */
async function textBefore(found: ChangeFound, kept: string | undefined): Promise<string | undefined> {
  if (found.change.before_bytes === null) {
    return "";
  }
  if (found.hasBefore && kept !== undefined) {
    return kept;
  }
  const now = await currentText(found.change.path);
  return now !== undefined && withHunks(now, found.hunks) !== undefined ? now : undefined;
}

function waitingItem(title: string): vscode.TreeItem {
  const item = new vscode.TreeItem(title);
  item.description = "waits for you";
  item.iconPath = new vscode.ThemeIcon("question", new vscode.ThemeColor("problemsWarningIcon.foreground"));
  item.command = { title: "Answer", command: "openbuffer.answer" };
  item.contextValue = "waiting";
  return item;
}

function runningItem(call: RunningCall): vscode.TreeItem {
  const item = new vscode.TreeItem(label(invocationMessage(call.tool, call.args as Record<string, unknown>), 120));
  item.description = call.lastProgress?.message ? label(call.lastProgress.message, 100) : "runs";
  item.iconPath = new vscode.ThemeIcon("sync~spin");
  item.contextValue = "running";
  return item;
}

function callItem(node: Extract<Node, { kind: "call" }>): vscode.TreeItem {
  const { call } = node;
  const { icon, colour } = iconOf(call.outcome);
  const item = new vscode.TreeItem(label(call.tool, 40));
  const outcome = call.outcome === "succeeded" ? "" : call.outcome;
  item.id = `${call.session.key}/${call.number}/${call.outcome}`;
  item.description = [aboutOf(call), outcome, whenOf(call.at)].filter(Boolean).join(" · ");
  item.tooltip = tooltipOf(call);
  item.iconPath = new vscode.ThemeIcon(icon, colour ? new vscode.ThemeColor(colour) : undefined);
  const hasPath = pathOf(call) !== undefined;
  item.contextValue = changesFile(call) ? "call change file" : hasPath ? "call file" : "call";
  item.command = changesFile(call)
    ? { title: "Open Change", command: "openbuffer.calls.openChange", arguments: [node] }
    : { title: "Show Details", command: "openbuffer.calls.showDetails", arguments: [node] };
  return item;
}

/** A program may be a wrapper that starts the server, so that the process of a session is its child. */
async function serverProcesses(sessions: readonly SessionOfCalls[], own: number | undefined): Promise<Set<number>> {
  const found = new Set<number>();
  for (const { session } of sessions.filter((each) => each.session.alive)) {
    if (own !== undefined && (session.process === own || (await parentOf(session.process)) === own)) {
      found.add(session.process);
    }
  }
  return found;
}

async function parentOf(process: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${process}/status`, "utf8");
    return Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]);
  } catch {
    return undefined; // where there is no such directory, the process itself has to do
  }
}

async function openFile(call: LoggedCall): Promise<void> {
  const path = pathOf(call);
  if (path !== undefined) {
    await vscode.window.showTextDocument(vscode.Uri.file(path));
  }
}

/** As they are and as they resolve, since the log has resolved paths. */
async function rootsOfWindow(): Promise<string[] | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const paths = folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
  const resolved = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return paths.length > 0 ? [...new Set([...paths, ...resolved])] : undefined;
}
