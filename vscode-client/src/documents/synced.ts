/** What the server was told of the documents: which are open, and which version was sent last. */
import { readFileSync, statSync } from "node:fs";
import type { TextDocument, TextDocumentChangeEvent } from "vscode";
import { decode } from "./encodings";

/** Only documents of files: `untitled:`, `output:`, `git:` and the input boxes of the chat are none. */
export const SCHEMES = ["file"];

const READ_AT_OPENING_MAX_BYTES = 16 * 1024 * 1024;

type Next<T> = (value: T) => Promise<void>;

/** Sends a change of the whole text. */
export type SendText = (uri: string, version: number, text: string) => Promise<void>;

/** One for each run of the server; `middleware` is a part of the language client's. */
export class SyncedDocuments {
  readonly #documents = new Map<string, TextDocument>();
  readonly #versions = new Map<string, number>();

  constructor(
    private readonly sendText: SendText,
    private readonly readOnDisk = onDisk,
  ) {}

  find(uri: string): TextDocument | undefined {
    return this.#documents.get(uri);
  }

  /** The version that was written to the server last. */
  version(uri: string): number | undefined {
    return this.#versions.get(uri);
  }

  readonly middleware = {
    didOpen: async (document: TextDocument, next: Next<TextDocument>): Promise<void> => {
      const uri = document.uri.toString();
      const { version } = document;
      this.#documents.set(uri, document);
      const saved = document.isDirty ? this.readOnDisk(document) : undefined;
      if (saved === undefined) {
        await next(document);
      } else {
        // What was restored unsaved: the server is to know what of it is on disk, and what is not.
        const opened = next(withText(document, version - 1, saved));
        await Promise.all([opened, this.sendText(uri, version, document.getText())]);
      }
      if (this.#documents.get(uri) === document) {
        this.#sent(uri, version);
      }
    },
    didChange: async (event: TextDocumentChangeEvent, next: Next<TextDocumentChangeEvent>): Promise<void> => {
      const uri = event.document.uri.toString();
      const { version } = event.document;
      await next(event);
      if (this.#documents.get(uri) === event.document) {
        this.#sent(uri, version);
      }
    },
    didClose: async (document: TextDocument, next: Next<TextDocument>): Promise<void> => {
      const uri = document.uri.toString();
      this.#documents.delete(uri);
      this.#versions.delete(uri);
      await next(document);
    },
  };

  #sent(uri: string, version: number): void {
    this.#versions.set(uri, Math.max(version, this.#versions.get(uri) ?? 0));
  }
}

/** The text of the document's file, read at once: what is typed next is told next. */
function onDisk(document: TextDocument): string | undefined {
  if (document.uri.scheme !== "file") {
    return undefined;
  }
  try {
    if (statSync(document.uri.fsPath).size > READ_AT_OPENING_MAX_BYTES) {
      return undefined;
    }
    return decode(readFileSync(document.uri.fsPath), document.encoding);
  } catch {
    return undefined;
  }
}

/** The document as it would be with another text. */
function withText(document: TextDocument, version: number, text: string): TextDocument {
  return Object.create(document, {
    version: { value: version },
    getText: { value: () => text },
  }) as TextDocument;
}
