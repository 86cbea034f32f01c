/** Whether somebody types at the moment: what a person is typing must not answer a question, nor land in a dialog. */
import * as vscode from "vscode";

export class Typing implements vscode.Disposable {
  #inEditorMs = 0;
  #inInputMs = 0;
  readonly #listeners: vscode.Disposable;

  constructor() {
    this.#listeners = vscode.Disposable.from(
      // Keys move the caret, and edits of agents do not count as keys.
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        if (kind === vscode.TextEditorSelectionChangeKind.Keyboard) {
          this.#inEditorMs = Date.now();
        }
      }),
      // The input box of a chat is a document, and no editor that is told of.
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && /input/i.test(document.uri.scheme)) {
          this.#inInputMs = Date.now();
        }
      }),
    );
  }

  /** Whether the last key is so short a time ago, wherever it went. */
  within(ms: number): boolean {
    return Date.now() - Math.max(this.#inEditorMs, this.#inInputMs) < ms;
  }

  /** Whether the last key in an editor of text is. */
  inEditorWithin(ms: number): boolean {
    return Date.now() - this.#inEditorMs < ms;
  }

  dispose(): void {
    this.#listeners.dispose();
  }
}
