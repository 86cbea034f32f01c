/** The text of a path as it is now, for showing a change in it: of the open document, else of the file. */
import { realpath } from "node:fs/promises";
import * as vscode from "vscode";

const FILE_MAX_BYTES = 8 * 1024 * 1024;

async function canonical(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path;
  }
}

/** The open document of a canonical path, by whatever name it was opened. */
export async function documentOf(path: string): Promise<vscode.TextDocument | undefined> {
  const open = vscode.workspace.textDocuments.filter(({ uri, isClosed }) => uri.scheme === "file" && !isClosed);
  const exact = open.find(({ uri }) => uri.fsPath === path);
  if (exact) {
    return exact;
  }
  const name = path.split(/[\\/]/).at(-1);
  for (const document of open) {
    // Only a link in a directory on the way, or one that has another name, makes this necessary.
    if (document.uri.fsPath.endsWith(`${name}`) && (await canonical(document.uri.fsPath)) === (await canonical(path))) {
      return document;
    }
  }
  return undefined;
}

/** Undefined where there is none, or where it is no text in UTF-8. */
export async function currentText(path: string): Promise<string | undefined> {
  const document = await documentOf(path);
  if (document) {
    return document.getText();
  }
  const uri = vscode.Uri.file(path);
  try {
    const { size } = await vscode.workspace.fs.stat(uri);
    if (size > FILE_MAX_BYTES) {
      return undefined;
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return undefined;
  }
}
