/** What reading, changing, saving and reloading documents needs of the editor. `vscodeEditor.ts` is the real one. */
import type { Edit } from "./edits";

/** A document that the server was told of. All of it is as it is at the moment of asking. */
export interface OpenDocument {
  readonly uri: string;
  /** Undefined where it has no file on this machine. */
  readonly path: string | undefined;
  readonly version: number;
  readonly isDirty: boolean;
  readonly isClosed: boolean;
  /** As VS Code names it, such as `utf8`. */
  readonly encoding: string;
  readonly lineEnd: "\n" | "\r\n";
  text(): string;
}

export interface Editor {
  /** A document of the server's by the URI that it was opened with. */
  find(uri: string): OpenDocument | undefined;
  /** The version that was sent last. */
  sentVersion(uri: string): number | undefined;
  /** Wait until everything that the user typed before this call is here and was sent. */
  flush(): Promise<void>;
  /** Make the edits, unless the document is not at the version that it has now; all or none, one undo step. */
  apply(document: OpenDocument, edits: readonly Edit[]): Promise<boolean>;
  /** Save as its user would, formatting and all. */
  save(document: OpenDocument): Promise<boolean>;
  /** The bytes of the file; undefined: there is none. Throws where it cannot be read. */
  readFile(path: string): Promise<Uint8Array | undefined>;
  /** Whether the encoding of the document can hold this text. */
  canEncode(document: OpenDocument, text: string): Promise<boolean>;
  /** When the editor will write the document without being asked, as the protocol names it; undefined: it does not. */
  autosave(document: OpenDocument): string | undefined;
}
