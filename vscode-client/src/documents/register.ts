/** Answers the requests about documents, and tells of those that cannot be asked about. */
import { Disposable, workspace } from "vscode";
import type { Connection } from "../connection";
import {
  APPLY_EDIT,
  type ApplyEditParams,
  type DocumentActionResult,
  type DocumentState,
  READ_DOCUMENT,
  RELOAD_DOCUMENT,
  type ReadDocumentParams,
  SAVE_DOCUMENT,
  type SaveDocumentParams,
} from "../protocol";
import { DocumentActions } from "./actions";
import { registerShown } from "./shown";
import type { SyncedDocuments } from "./synced";
import { VscodeEditor } from "./vscodeEditor";

export function registerDocuments(connection: Connection, synced: () => SyncedDocuments | undefined): Disposable {
  const actions = new DocumentActions(new VscodeEditor(synced));
  return Disposable.from(
    connection.handle<ReadDocumentParams, DocumentState | null>(READ_DOCUMENT, (params) => actions.read(params)),
    connection.handle<ApplyEditParams, DocumentActionResult>(APPLY_EDIT, (params) => actions.apply(params)),
    connection.handle<SaveDocumentParams, DocumentActionResult>(SAVE_DOCUMENT, (params) => actions.save(params)),
    connection.handle<SaveDocumentParams, DocumentActionResult>(RELOAD_DOCUMENT, (params) => actions.reload(params)),
    workspace.onWillSaveTextDocument(({ document }) => synced()?.willSave(document)),
    registerShown(connection),
  );
}
