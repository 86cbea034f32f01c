/**
 * `openbuffer/requestPermission`: a change is shown in the diff editor, anything else as a page, and answered by buttons.
 *
 * Neither takes the cursor. Only what is clicked in a dialog, or typed after going into it, answers it.
 */
import * as vscode from "vscode";
import type { RequestPermissionParams, RequestPermissionResult } from "../protocol";
import { APPROVAL, closeTabs, closeTabsOf, type Pages, showPage, tabsOf } from "../views/pages";
import { currentText } from "./currentText";
import { brief, type Choice, choicesOf, headline, isChangeAlone, nameOf, pageOf, rulesToRead } from "./permission";
import { label, plainLine } from "./plain";
import { sidesOf } from "./proposal";
import type { DialogQueue, Fail, Settle, Shown } from "./queue";
import { Toast } from "./toast";
import type { Typing } from "./typing";

const DISMISSED: RequestPermissionResult = { outcome: "dismissed" };
const TYPED_LATELY_MS = 8_000;
const AGAIN_MS = 700;

export class Approvals implements vscode.Disposable, vscode.CodeLensProvider {
  readonly #open = new Map<string, Approval>();
  readonly #lensesChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#lensesChanged.event;
  readonly #disposables: vscode.Disposable[];
  #answeredMs = 0;

  constructor(
    private readonly queue: DialogQueue,
    private readonly pages: Pages,
    private readonly typing: Typing,
  ) {
    const command = (name: string, act: (approval: Approval) => unknown) =>
      vscode.commands.registerCommand(`openbuffer.approval.${name}`, (which?: unknown) => this.#with(which, act));
    this.#disposables = [
      this.#lensesChanged,
      vscode.languages.registerCodeLensProvider({ scheme: APPROVAL }, this),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length > 0) {
          // A tab that is moved to another group is closed there and opened here.
          setTimeout(() => this.#dismissClosed(), 100);
        }
        void this.#closeLeft();
      }),
      command("allow", (approval) => approval.answer({ outcome: "once" })),
      command("deny", (approval) => approval.answer({ outcome: "no" })),
      command("denyWithReason", (approval) => approval.denyWithReason()),
      command("more", (approval) => approval.choose()),
      command("always", (approval) => approval.choose(["session", "always"])),
      command("dismiss", (approval) => approval.answer(DISMISSED)),
      command("show", (approval) => approval.focus()),
    ];
    void this.#closeLeft();
  }

  /** Ask the user. The answer is theirs; closing it is `dismissed`, and so is a request that was taken back. */
  request(params: RequestPermissionParams, token: vscode.CancellationToken): Promise<RequestPermissionResult> {
    return this.queue.ask(params.dialogId, DISMISSED, token, (settle, fail) => {
      const answer: Settle<RequestPermissionResult> = (result) => {
        this.#answeredMs = Date.now();
        return settle(result);
      };
      const approval = new Approval(params, answer, fail, this.pages, this.typing, (uris) => {
        for (const uri of uris) {
          this.#open.set(uri.toString(), approval);
        }
        this.#lensesChanged.fire();
      });
      return approval;
    });
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const approval = this.#open.get(document.uri.toString());
    if (!approval || approval.isOver) {
      return [];
    }
    const top = new vscode.Range(0, 0, 0, 0);
    const lens = (title: string, name: string) =>
      new vscode.CodeLens(top, { title, command: `openbuffer.approval.${name}`, arguments: [document.uri] });
    const lasting = approval.hasRules ? [lens("Allow for longer…", "always")] : [];
    return [
      lens("$(check) Allow once", "allow"),
      ...lasting,
      lens("$(close) Deny", "deny"),
      lens("Deny with a reason…", "denyWithReason"),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#disposables).dispose();
  }

  /** The approval that a button or a link belongs to, else the one that is shown. */
  #with(which: unknown, act: (approval: Approval) => unknown): unknown {
    const named = which instanceof vscode.Uri ? which.toString() : typeof which === "string" ? which : undefined;
    const open = [...this.#open.values()].filter((approval) => !approval.isOver);
    const approval = named === undefined ? open[0] : this.#open.get(named);
    if (!approval || approval.isOver) {
      void vscode.window.setStatusBarMessage("openbuffer: that is not asked any more", 5_000);
      return undefined;
    }
    // The second click of a double click on the one before, whose buttons were in the same place.
    if (
      named !== undefined &&
      approval.shownMs - this.#answeredMs < AGAIN_MS &&
      Date.now() - approval.shownMs < AGAIN_MS
    ) {
      return undefined;
    }
    return act(approval);
  }

  /** Tabs of what is not asked any more: of an editor that opened late, and of a window before this one. */
  async #closeLeft(): Promise<void> {
    await closeTabs(APPROVAL, (uri) => this.#open.get(uri.toString())?.isOver === false);
  }

  #dismissClosed(): void {
    for (const approval of new Set(this.#open.values())) {
      if (!approval.isOver && approval.shownMs > 0 && !approval.hasTab()) {
        approval.answer(DISMISSED);
      }
    }
    for (const [uri, approval] of this.#open) {
      if (approval.isOver) {
        this.#open.delete(uri);
      }
    }
  }
}

/** One request while it is asked. */
class Approval implements Shown {
  readonly title: string;
  isOver = false;
  /** When its editor was opened; 0 before. */
  shownMs = 0;
  #uris: vscode.Uri[] = [];
  #toast: Toast | undefined;
  #picker: vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox | undefined;
  #reveal: ((preserveFocus: boolean) => Thenable<unknown>) | undefined;

  constructor(
    private readonly params: RequestPermissionParams,
    private readonly settle: Settle<RequestPermissionResult>,
    private readonly fail: Fail,
    private readonly pages: Pages,
    private readonly typing: Typing,
    private readonly opened: (uris: readonly vscode.Uri[]) => void,
  ) {
    this.title = headline(params);
  }

  get hasRules(): boolean {
    return (this.params.rules ?? []).length > 0;
  }

  hasTab(): boolean {
    return tabsOf(this.#uris).length > 0;
  }

  answer(result: RequestPermissionResult): void {
    this.settle(result);
  }

  open(): void {
    this.#show().then(undefined, this.fail);
  }

  close(): void {
    this.isOver = true;
    this.#toast?.close();
    this.#picker?.hide();
    void this.#takeAway();
  }

  focus(): void {
    void this.#reveal?.(false);
  }

  /** Let the user choose among all answers, with the rules that belong to them; closing that leaves it open. */
  choose(only?: readonly string[]): void {
    const choices = choicesOf(this.params).filter(({ outcome }) => !only || only.includes(outcome));
    if (choices.length === 0) {
      void vscode.window.showInformationMessage("openbuffer: this can be allowed for this once only.");
      return;
    }
    const picker = vscode.window.createQuickPick<vscode.QuickPickItem & { choice?: Choice }>();
    this.#hold(picker);
    picker.title = this.title;
    picker.placeholder = "What may it do?";
    picker.matchOnDetail = true;
    picker.items = [
      ...choices.map((choice) => ({ label: choice.title, detail: label(choice.detail, 600), choice })),
      ...(only ? [] : [{ label: "Deny with a reason…", detail: "What you write is told to the agent." }]),
    ];
    picker.onDidAccept(() => {
      const [item] = picker.selectedItems;
      picker.hide();
      if (item?.choice) {
        void this.#chosen(item.choice);
      } else if (item) {
        this.denyWithReason();
      }
    });
    picker.show();
  }

  denyWithReason(): void {
    const box = vscode.window.createInputBox();
    this.#hold(box);
    box.title = this.title;
    box.prompt = "Why not? The agent is told.";
    box.onDidAccept(() => {
      const reason = box.value.trim();
      box.hide();
      this.answer(reason ? { outcome: "no", reason } : { outcome: "no" });
    });
    box.show();
  }

  /** What is allowed from then on is read whole before it is: a row of a quick pick shows the beginning of it. */
  async #chosen({ outcome, title }: Choice): Promise<void> {
    const rules = rulesToRead(this.params, outcome);
    if (rules !== undefined) {
      const options = { modal: true, detail: rules };
      const said = await vscode.window.showWarningMessage(`${this.title}: allowed from then on`, options, title);
      if (said !== title) {
        return;
      }
    }
    this.answer({ outcome });
  }

  #hold(input: vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox): void {
    this.#picker?.hide();
    this.#picker = input;
    input.ignoreFocusOut = true;
    input.onDidHide(() => {
      input.dispose();
      if (this.#picker === input) {
        this.#picker = undefined;
      }
    });
  }

  async #show(): Promise<void> {
    const { change } = this.params;
    const reveal = change && isChangeAlone(this.params) ? await this.#diff(change.path) : this.#page();
    this.opened(this.#uris);
    this.#reveal = (preserveFocus) =>
      reveal({ preview: false, preserveFocus, viewColumn: this.#column(preserveFocus) });
    if (this.isOver) {
      return this.#takeAway();
    }
    await this.#reveal(true);
    this.shownMs = Date.now();
    if (this.isOver) {
      return this.#takeAway();
    }
    // Only what is shown can be allowed.
    const which = this.#uris.at(-1)?.toString();
    this.#toast = new Toast(`${brief(this.params)}?`, [
      ["Show", "openbuffer.approval.show", which],
      ["Allow once", "openbuffer.approval.allow", which],
      ["Deny", "openbuffer.approval.deny", which],
      ["More…", "openbuffer.approval.more", which],
    ]);
  }

  /** What somebody types in is not covered; whoever comes to answer finds it where it is. */
  #column(preserveFocus: boolean): vscode.ViewColumn {
    const shown = tabsOf(this.#uris)[0]?.group.viewColumn;
    if (shown !== undefined || !preserveFocus) {
      return shown ?? vscode.ViewColumn.Active;
    }
    const wanted = vscode.workspace.getConfiguration("openbuffer").get<string>("dialogs.openBeside", "typing");
    const isBeside = wanted === "always" || (wanted === "typing" && this.typing.inEditorWithin(TYPED_LATELY_MS));
    return isBeside && vscode.window.activeTextEditor ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  }

  async #diff(path: string): Promise<(options: vscode.TextDocumentShowOptions) => Thenable<unknown>> {
    const change = this.params.change;
    const hunks = change?.hunks ?? [];
    const text = change?.inSandbox ? undefined : change?.beforeBytes === null ? "" : await currentText(path);
    const sides = sidesOf(text, hunks, change?.isWhole ?? false);
    const name = plainLine(nameOf(path));
    const before = this.pages.add(name, sides.before);
    const after = this.pages.add(name, sides.after);
    this.#uris = [before, after];
    const title = sides.isWholeText ? this.title : `${this.title}, the places alone`;
    return (options) => vscode.commands.executeCommand("vscode.diff", before, after, title, options);
  }

  #page(): (options: vscode.TextDocumentShowOptions) => Thenable<unknown> {
    const text = `${pageOf(this.params).join("\n")}\n`;
    const uri = this.pages.add(`${plainLine(this.params.tool)} asks`, text);
    this.#uris = [uri];
    return (options) => showPage(uri, options);
  }

  async #takeAway(): Promise<void> {
    const uris = this.#uris;
    await closeTabsOf(uris);
    for (const uri of uris) {
      this.pages.forget(uri);
    }
  }
}
