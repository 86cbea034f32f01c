/** Tells the server which documents have unsaved changes that cannot be told, whenever these are others. */
import {
  Disposable,
  type Tab,
  TabInputCustom,
  TabInputNotebook,
  TabInputNotebookDiff,
  TabInputText,
  TabInputTextDiff,
  type Uri,
  window,
  workspace,
} from "vscode";
import type { Connection } from "../connection";
import { UNSYNCHRONIZED_CHANGED, type UnsynchronizedDocumentsParams } from "../protocol";
import { type ShownFile, type TabKind, unsynchronized } from "./unsynchronized";

export function registerShown(connection: Connection): Disposable {
  let told = "[]";
  const tell = () => {
    const open = new Set(workspace.textDocuments.map(({ uri }) => uri.toString()));
    const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
    const documents = unsynchronized(tabs.flatMap(shownFile), (uri) => open.has(uri));
    const text = JSON.stringify(documents);
    if (text !== told && connection.state === "running") {
      told = text;
      const params: UnsynchronizedDocumentsParams = { documents };
      connection.notify(UNSYNCHRONIZED_CHANGED, params);
    }
  };
  return Disposable.from(
    window.tabGroups.onDidChangeTabs(tell),
    workspace.onDidOpenTextDocument(tell),
    workspace.onDidCloseTextDocument(tell),
    connection.onDidChangeState((state) => {
      if (state === "running") {
        told = "[]"; // a new server knows of none
        tell();
      }
    }),
  );
}

function shownFile(tab: Tab): ShownFile[] {
  const found = place(tab);
  if (found === undefined) {
    return [];
  }
  const [kind, uri] = found;
  return [
    {
      kind,
      scheme: uri.scheme,
      isDirty: tab.isDirty,
      fileUri: uri.with({ scheme: "file" }).toString(),
      hasFile: uri.path.startsWith("/"),
    },
  ];
}

function place({ input }: Tab): [TabKind, Uri] | undefined {
  if (input instanceof TabInputText) {
    return ["text", input.uri];
  }
  if (input instanceof TabInputTextDiff) {
    return ["text", input.modified];
  }
  if (input instanceof TabInputNotebook) {
    return ["notebook", input.uri];
  }
  if (input instanceof TabInputNotebookDiff) {
    return ["notebook", input.modified];
  }
  return input instanceof TabInputCustom ? ["custom", input.uri] : undefined;
}
