/**
 * `openbuffer/askUser`: a question in a quick pick, or in an input box where there is nothing to choose.
 *
 * Those take the keys. So they do not come up while somebody types, and take no answer in their first moment.
 */
import * as vscode from "vscode";
import { caughtUp } from "../caughtUp";
import type { AskUserParams, AskUserResult } from "../protocol";
import { closeTabs, closeTabsOf, type Pages, QUESTION, showPage } from "../views/pages";
import { plainLines } from "./plain";
import {
  answerOf,
  answerOfText,
  isTextAlone,
  pageOfQuestion,
  placeholderOf,
  type Row,
  rowsOf,
  titleOf,
  titleOfQuestion,
} from "./question";
import type { DialogQueue, Settle, Shown } from "./queue";
import { Toast } from "./toast";
import type { Typing } from "./typing";

const DISMISSED: AskUserResult = { outcome: "dismissed" };
const QUIET_MS = 3_000;
const LOOK_AGAIN_MS = 250;
/** Keys that come so early were meant for something else. */
const DEAF_MS = 500;

export class Questions {
  constructor(
    private readonly queue: DialogQueue,
    private readonly pages: Pages,
    private readonly typing: Typing,
  ) {
    // Of a window before this one.
    void closeTabs(QUESTION, () => false);
  }

  /** Ask the user. Esc is `dismissed`, and so is a request that was taken back. */
  ask(params: AskUserParams, token: vscode.CancellationToken): Promise<AskUserResult> {
    return this.queue.ask(
      params.dialogId,
      DISMISSED,
      token,
      (settle) => new Question(params, settle, this.pages, this.typing),
    );
  }
}

type Item = vscode.QuickPickItem & { row: Row };

class Question implements Shown {
  readonly title: string;
  #toast: Toast | undefined;
  #timer: NodeJS.Timeout | undefined;
  #input: vscode.QuickPick<Item> | vscode.InputBox | undefined;
  #page: vscode.Uri | undefined;
  #isOver = false;

  constructor(
    private readonly params: AskUserParams,
    private readonly settle: Settle<AskUserResult>,
    private readonly pages: Pages,
    private readonly typing: Typing,
  ) {
    this.title = titleOf(params);
  }

  open(): void {
    void this.#openOrWait();
  }

  async #openOrWait(): Promise<void> {
    if ((await this.#openIfQuiet()) || this.#isOver || this.#input) {
      return;
    }
    this.#toast = new Toast(`The agent asks: ${this.title}`, [["Answer", "openbuffer.answer"]]);
    this.#timer = setInterval(() => void this.#openIfQuiet(), LOOK_AGAIN_MS);
  }

  /** Come up unless somebody types, whose last key may not have been heard of yet. */
  async #openIfQuiet(): Promise<boolean> {
    await caughtUp();
    const isQuiet = !this.typing.within(QUIET_MS);
    if (isQuiet && !this.#input) {
      this.focus();
    }
    return isQuiet;
  }

  close(): void {
    this.#isOver = true;
    this.#letGo();
    this.#input?.hide();
    if (this.#page) {
      void closeTabsOf([this.#page]);
      this.pages.forget(this.#page);
    }
  }

  focus(): void {
    if (this.#isOver) {
      return;
    }
    this.#letGo();
    if (this.#input) {
      this.#input.show();
      return;
    }
    void this.#showPage();
    const input = isTextAlone(this.params) ? this.#textBox() : this.#picker();
    this.#input = input;
    input.title = titleOfQuestion(this.params);
    // Whoever looks at the code before answering has not closed the question.
    input.ignoreFocusOut = true;
    input.onDidHide(() => {
      this.settle(DISMISSED);
      input.dispose();
    });
    input.show();
  }

  #letGo(): void {
    this.#toast?.close();
    clearInterval(this.#timer);
  }

  /** A row of a dialog shows the beginning of a long question, and its end may be what matters. */
  async #showPage(): Promise<void> {
    const text = pageOfQuestion(this.params);
    if (text !== undefined) {
      this.#page = this.pages.add(this.title, text);
      await showPage(this.#page, { preview: false, preserveFocus: true });
      if (this.#isOver) {
        await closeTabsOf([this.#page]);
      }
    }
  }

  #answer(result: AskUserResult | undefined): void {
    if (result) {
      this.settle(result);
    }
  }

  #textBox(): vscode.InputBox {
    const box = vscode.window.createInputBox();
    const startedMs = Date.now();
    box.prompt = plainLines(this.params.text).join(" ");
    box.placeholder = placeholderOf(this.params);
    box.onDidAccept(() => {
      if (Date.now() - startedMs >= DEAF_MS) {
        this.#answer(answerOfText(box.value));
      }
    });
    return box;
  }

  #picker(): vscode.QuickPick<Item> {
    const { params } = this;
    const picker = vscode.window.createQuickPick<Item>();
    const startedMs = Date.now();
    picker.placeholder = placeholderOf(params);
    picker.canSelectMany = params.multiSelect;
    picker.matchOnDetail = true;
    const fill = () => {
      const chosen = new Set(picker.selectedItems.map(({ row }) => row.place));
      picker.items = rowsOf(params, picker.value).map((row) => ({
        label: row.label,
        description: row.description,
        detail: row.detail,
        alwaysShow: row.place === undefined,
        row,
      }));
      if (params.multiSelect) {
        picker.selectedItems = picker.items.filter(({ row }) => chosen.has(row.place));
      }
    };
    fill();
    if (params.freeText) {
      picker.onDidChangeValue(fill);
    }
    picker.onDidAccept(() => {
      if (Date.now() - startedMs >= DEAF_MS) {
        const rows = picker.selectedItems.map(({ row }) => row);
        this.#answer(answerOf(params, rows, picker.value));
      }
    });
    return picker;
  }
}
