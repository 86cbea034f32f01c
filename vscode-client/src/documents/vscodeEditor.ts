/** VS Code as the documents' requests need it. */
import { readFile } from "node:fs/promises";
import {
  EndOfLine,
  Range,
  type TextDocument,
  TextEdit,
  WorkspaceEdit,
  type WorkspaceEditEntryMetadata,
  workspace,
} from "vscode";
import { caughtUp } from "../caughtUp";
import { autosaveOf } from "./autosave";
import type { Editor, OpenDocument } from "./editor";
import type { Edit } from "./edits";
import type { SyncedDocuments } from "./synced";

/**
 * VS Code cuts replacements into smaller ones, in the midst of characters of two UTF-16 units too, which are lost by that;
 * and the server, whose edits are small already, sees states of the text that are neither before nor after. What has a
 * label is made as it is.
 */
const AS_IT_IS = { label: "openbuffer", needsConfirmation: false };

/** `synced` gives those of the run of the server that goes on now. */
export class VscodeEditor implements Editor {
  readonly #views = new WeakMap<TextDocument, DocumentView>();

  constructor(private readonly synced: () => SyncedDocuments | undefined) {}

  find(uri: string): OpenDocument | undefined {
    const document = this.synced()?.find(uri);
    if (document === undefined) {
      return undefined;
    }
    let view = this.#views.get(document);
    if (view === undefined) {
      view = new DocumentView(uri, document);
      this.#views.set(document, view);
    }
    return view;
  }

  sentVersion(uri: string): number | undefined {
    return this.synced()?.version(uri);
  }

  async flush(): Promise<void> {
    await caughtUp();
    // What was heard of is sent in the turns that follow.
    await new Promise((resolve) => setImmediate(resolve));
    await this.synced()?.settled();
  }

  async apply(document: OpenDocument, edits: readonly Edit[]): Promise<boolean> {
    const change = new WorkspaceEdit();
    const { uri } = of(document);
    change.set(
      uri,
      edits.map(({ range: { start, end }, newText }): [TextEdit, WorkspaceEditEntryMetadata | undefined] => {
        const range = new Range(start.line, start.character, end.line, end.character);
        const edit = TextEdit.replace(range, newText);
        return [edit, AS_IT_IS];
      }),
    );
    return workspace.applyEdit(change);
  }

  async save(document: OpenDocument): Promise<boolean> {
    // Not `workspace.save`, which does nothing for a document that no editor shows.
    return of(document).save();
  }

  async readFile(path: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") {
        return undefined;
      }
      throw error;
    }
  }

  async canEncode(document: OpenDocument, text: string): Promise<boolean> {
    const { encoding } = document;
    const bytes = await workspace.encode(text, { encoding });
    return (await workspace.decode(bytes, { encoding })) === text;
  }

  autosave(document: OpenDocument): string | undefined {
    return autosaveOf(of(document), workspace.getConfiguration("files", of(document)));
  }
}

class DocumentView implements OpenDocument {
  constructor(
    readonly uri: string,
    readonly document: TextDocument,
  ) {}

  get path() {
    return this.document.uri.scheme === "file" ? this.document.uri.fsPath : undefined;
  }
  get version() {
    return this.document.version;
  }
  get isDirty() {
    return this.document.isDirty;
  }
  get isClosed() {
    return this.document.isClosed;
  }
  get encoding() {
    return this.document.encoding;
  }
  get lineEnd() {
    return this.document.eol === EndOfLine.CRLF ? "\r\n" : "\n";
  }
  text() {
    return this.document.getText();
  }
}

function of(document: OpenDocument): TextDocument {
  return (document as DocumentView).document;
}
