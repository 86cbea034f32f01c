/** What the server was told of the documents: which are open, and which version was sent last. */
import { readFileSync, statSync } from "node:fs";
import type { TextDocument, TextDocumentChangeEvent } from "vscode";
import { decode } from "./encodings";

/** Only documents of files: `untitled:`, `output:`, `git:` and the input boxes of the chat are none. */
export const SCHEMES = ["file"];

const READ_AT_OPENING_MAX_BYTES = 16 * 1024 * 1024;
const WHILE_SAVED_MAX_CHARS = 1024 * 1024;
const WHILE_SAVED_MAX_TEXTS = 100;

type Next<T> = (value: T) => Promise<void>;

/** Sends a change of the whole text. */
export type SendText = (uri: string, version: number, text: string) => Promise<void>;

/** One for each run of the server; `middleware` is a part of the language client's. */
export class SyncedDocuments {
  readonly #documents = new Map<string, TextDocument>();
  readonly #versions = new Map<string, number>();
  /** The texts of a document since its saving began. */
  readonly #whileSaved = new Map<string, string[]>();

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

  /** The editor begins to save. */
  willSave(document: TextDocument): void {
    const text = document.getText();
    if (text.length <= WHILE_SAVED_MAX_CHARS) {
      this.#whileSaved.set(document.uri.toString(), [text]);
    }
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
      const texts = this.#whileSaved.get(uri);
      if (texts !== undefined && texts.push(event.document.getText()) > WHILE_SAVED_MAX_TEXTS) {
        this.#whileSaved.delete(uri); // it failed, or takes forever
      }
      await next(event);
      if (this.#documents.get(uri) === event.document) {
        this.#sent(uri, version);
      }
    },
    didSave: async (document: TextDocument, next: Next<TextDocument>): Promise<void> => {
      const uri = document.uri.toString();
      const texts = this.#whileSaved.get(uri) ?? [];
      this.#whileSaved.delete(uri);
      const saved = document.isDirty && texts.length > 1 ? this.readOnDisk(document) : undefined;
      const current = document.getText();
      if (saved === undefined || saved === current || !texts.includes(saved)) {
        return next(document);
      }
      // Somebody typed on while it was saved. The server is to know what is on disk; it hears all three in one go.
      const { version } = document;
      const before = this.sendText(uri, version, saved);
      await Promise.all([before, next(withText(document, version, saved)), this.sendText(uri, version, current)]);
    },
    didClose: async (document: TextDocument, next: Next<TextDocument>): Promise<void> => {
      const uri = document.uri.toString();
      this.#whileSaved.delete(uri);
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
