/** Whether VS Code will save a document by itself. */
import type { TextDocument, WorkspaceConfiguration } from "vscode";

/** The names are the protocol's, too. */
const MODES = ["afterDelay", "onFocusChange", "onWindowChange"];

/** When; undefined: it does not. `files` is the configuration of that name for this document. */
export function autosaveOf(document: TextDocument, files: WorkspaceConfiguration): string | undefined {
  const mode = files.get<string>("autoSave", "off");
  return document.uri.scheme === "file" && MODES.includes(mode) ? mode : undefined;
}
