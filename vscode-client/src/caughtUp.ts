import { commands } from "vscode";

/**
 * Wait until this process has heard of everything that happened in the window before: keys, changes, selections. It
 * hears of them a moment later, and the answer to a command that the window carries out comes behind all of them.
 */
export async function caughtUp(): Promise<void> {
  await commands.executeCommand("setContext", "openbuffer.caughtUp", true);
}
