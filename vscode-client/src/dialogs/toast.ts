/**
 * A notification that can be taken away again, which those with buttons cannot: what it offers are links.
 *
 * The words come escaped; only the links are made here.
 */
import * as vscode from "vscode";

export class Toast {
  #close: () => void = () => undefined;

  /** `links`: their words, and the command behind each with its argument. */
  constructor(words: string, links: readonly (readonly [title: string, command: string, argument?: string])[]) {
    const offered = links.map(linked).join(" · ");
    void vscode.window.withProgress({ location: vscode.ProgressLocation.Notification }, (progress) => {
      progress.report({ message: `${words} ${offered}` });
      return new Promise<void>((resolve) => {
        this.#close = resolve;
      });
    });
  }

  close(): void {
    this.#close();
  }
}

function linked([title, command, argument]: readonly [string, string, string?]): string {
  const arguments_ = argument === undefined ? "" : `?${encodeURIComponent(JSON.stringify([argument]))}`;
  return `[${title}](command:${command}${arguments_})`;
}
