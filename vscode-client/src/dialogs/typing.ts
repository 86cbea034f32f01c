/** Whether somebody types at the moment: what a person is typing must not answer a question, nor land in a dialog. */
import * as vscode from "vscode";

/** Documents that change by themselves. */
const NOT_TYPED = new Set(["output", "debug", "vscode-terminal"]);

export class Typing implements vscode.Disposable {
  #lastMs = 0;
  readonly #listener: vscode.Disposable;

  constructor() {
    this.#listener = vscode.workspace.onDidChangeTextDocument((event) => {
      const isByUser = event.document === vscode.window.activeTextEditor?.document;
      // The input box of a chat is a document, too, and never an editor that is told of.
      const isInput = /input/i.test(event.document.uri.scheme);
      if (event.contentChanges.length > 0 && (isByUser || isInput) && !NOT_TYPED.has(event.document.uri.scheme)) {
        this.#lastMs = Date.now();
      }
    });
  }

  /** Whether the last key is so short a time ago. */
  within(ms: number): boolean {
    return Date.now() - this.#lastMs < ms;
  }

  dispose(): void {
    this.#listener.dispose();
  }
}
