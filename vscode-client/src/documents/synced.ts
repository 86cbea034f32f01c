/** What the server was told of the documents: which are open, and which version was sent last. */
import { readFileSync, statSync } from "node:fs";
import type { TextDocument, TextDocumentChangeEvent } from "vscode";
import { decode } from "./encodings";

/** Only documents of files: `untitled:`, `output:`, `git:` and the input boxes of the chat are none. */
export const SCHEMES = ["file"];

const READ_AT_OPENING_MAX_BYTES = 16 * 1024 * 1024;
const WHILE_SAVED_MAX_CHARS = 1024 * 1024;
const WHILE_SAVED_MAX_TEXTS = 100;
const LOOKED_AT_MAX_CHARS = 1024 * 1024;
/** Longer takes only what failed, of which nothing is told. */
const SAVING_MAX_MS = 1_000;
const LOOK_AGAIN_MS = 10;

type Next<T> = (value: T) => Promise<void>;

/** Sends a change of the whole text. */
export type SendText = (uri: string, version: number, text: string) => Promise<void>;

/** Sends that the text is the file's, without the text. */
export type SendSaved = (uri: string) => Promise<void>;

/** A document that the editor saves: its texts since that began; those of long ones are not kept. */
interface Saving {
  readonly texts: string[];
  readonly startedMs: number;
}

/** One for each run of the server; `middleware` is a part of the language client's. */
export class SyncedDocuments {
  readonly #documents = new Map<string, TextDocument>();
  readonly #versions = new Map<string, number>();
  readonly #saving = new Map<string, Saving>();

  constructor(
    private readonly sendText: SendText,
    private readonly sendSaved: SendSaved,
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
    const texts = text.length <= WHILE_SAVED_MAX_CHARS ? [text] : [];
    this.#saving.set(document.uri.toString(), { texts, startedMs: Date.now() });
  }

  /** Until what is being saved is saved, and was told: in between the disk holds what nobody knows of. */
  async settled(): Promise<void> {
    const isFresh = ({ startedMs }: Saving) => Date.now() - startedMs < SAVING_MAX_MS;
    while ([...this.#saving.values()].some(isFresh)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
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
      const saving = this.#saving.get(uri);
      if (saving !== undefined && saving.texts.length > 0) {
        saving.texts.push(event.document.getText());
        if (saving.texts.length > WHILE_SAVED_MAX_TEXTS) {
          this.#saving.delete(uri); // it failed, or takes forever
        }
      }
      const changed = next(event);
      // A revert, or a reload because the file had changed. LSP knows it as a change like any other.
      await Promise.all([changed, ...(this.#isOfDisk(event.document) ? [this.sendSaved(uri)] : [])]);
      if (this.#documents.get(uri) === event.document) {
        this.#sent(uri, version);
      }
    },
    didSave: async (document: TextDocument, next: Next<TextDocument>): Promise<void> => {
      const uri = document.uri.toString();
      const texts = this.#saving.get(uri)?.texts ?? [];
      this.#saving.delete(uri);
      // Whether it is modified is not to be asked: in this moment no document is.
      const saved = texts.length > 1 ? this.readOnDisk(document) : undefined;
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
      this.#saving.delete(uri);
      this.#documents.delete(uri);
      this.#versions.delete(uri);
      await next(document);
    },
  };

  /** Whether the text was loaded from disk right now, or is again what it was there. */
  #isOfDisk(document: TextDocument): boolean {
    // What is typed first is not counted as modified yet: so the file is looked at.
    if (document.isDirty) {
      return false;
    }
    const text = document.getText();
    return text.length <= LOOKED_AT_MAX_CHARS && text === this.readOnDisk(document);
  }

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
