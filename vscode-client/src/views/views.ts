/** All that is seen of the extension besides its dialogs. */
import * as vscode from "vscode";
import type { Calls } from "../calls";
import type { Connection } from "../connection";
import type { Dialogs } from "../dialogs/dialogs";
import { CallsView } from "./callsView";
import { registerCommands } from "./commands";
import { Configuration } from "./configuration";
import { type ProgramPlace, ServerProgram } from "./program";
import { StatusBar } from "./statusBar";

export interface Views extends vscode.Disposable {
  readonly configuration: Configuration;
}

/** `editorSettings`: the server's settings as they are set in the editor, as an object of tables. */
export function registerViews(
  connection: Connection,
  calls: Calls,
  dialogs: Dialogs,
  place: ProgramPlace,
  editorSettings: () => Record<string, unknown>,
): Views {
  const program = new ServerProgram(place);
  const configuration = new Configuration(connection, program, editorSettings);
  const parts = vscode.Disposable.from(
    connection.onDidChangeState((state) => {
      void vscode.commands.executeCommand("setContext", "openbuffer.isRunning", state === "running");
    }),
    configuration,
    new StatusBar(connection, calls, dialogs, configuration),
    new CallsView(connection, calls, dialogs, program),
    registerCommands(connection, calls, program, editorSettings),
  );
  return { configuration, dispose: () => parts.dispose() };
}
