/** Whether VS Code will save a document by itself. */
import type { TextDocument, WorkspaceConfiguration } from "vscode";

const WHEN: { readonly [mode: string]: string } = {
  afterDelay: "after a moment",
  onFocusChange: "when its user turns to another editor",
  onWindowChange: "when its user turns to another window",
};

/** When, in words; undefined: it does not. `files` is the configuration of that name for this document. */
export function autosaveOf(document: TextDocument, files: WorkspaceConfiguration): string | undefined {
  if (document.isUntitled || document.uri.scheme !== "file") {
    return undefined;
  }
  return WHEN[files.get<string>("autoSave", "off")];
}
