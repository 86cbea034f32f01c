/** What the server asks the user: permissions and questions, one after the other. */
import * as vscode from "vscode";
import type { Connection } from "../connection";
import {
  ASK_USER,
  type AskUserParams,
  REQUEST_PERMISSION,
  type RequestPermissionParams,
  WITHDRAW_DIALOG,
  type WithdrawDialogParams,
} from "../protocol";
import { APPROVAL, Pages, QUESTION } from "../views/pages";
import { Approvals } from "./approvals";
import { Questions } from "./questions";
import { DialogQueue } from "./queue";
import { Typing } from "./typing";

/** What others see of it. */
export interface Dialogs extends vscode.Disposable {
  /** The titles of all that wait for an answer. */
  readonly waiting: readonly string[];
  readonly onDidChange: vscode.Event<void>;
}

export function registerDialogs(connection: Connection): Dialogs {
  const changed = new vscode.EventEmitter<void>();
  const queue = new DialogQueue(() => changed.fire());
  const typing = new Typing();
  const pages = new Pages(APPROVAL);
  const questionPages = new Pages(QUESTION);
  const approvals = new Approvals(queue, pages, typing);
  const questions = new Questions(queue, questionPages, typing);
  const parts = vscode.Disposable.from(
    connection.handle<RequestPermissionParams, unknown>(REQUEST_PERMISSION, (params, token) =>
      approvals.request(params, token),
    ),
    connection.handle<AskUserParams, unknown>(ASK_USER, (params, token) => questions.ask(params, token)),
    connection.listen<WithdrawDialogParams>(WITHDRAW_DIALOG, ({ dialogId }) => queue.withdraw(dialogId)),
    connection.onDidChangeState((state) => {
      if (state !== "running") {
        queue.dismissAll();
      }
    }),
    vscode.commands.registerCommand("openbuffer.answer", () => {
      if (!queue.focus()) {
        void vscode.window.showInformationMessage("openbuffer: nothing is asked at the moment.");
      }
    }),
    new vscode.Disposable(() => queue.dismissAll()),
    approvals,
    pages,
    questionPages,
    typing,
    changed,
  );
  return {
    get waiting() {
      return queue.titles;
    },
    onDidChange: changed.event,
    dispose: () => parts.dispose(),
  };
}
