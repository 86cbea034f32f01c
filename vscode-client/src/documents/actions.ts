/** The four requests of the server about a document: read it, change it, save it, reload it. */
import type {
  ApplyEditParams,
  DocumentActionResult,
  DocumentState,
  ReadDocumentParams,
  SaveDocumentParams,
} from "../protocol";
import type { Editor, OpenDocument } from "./editor";
import { plan } from "./edits";
import { decode, holdsEverything, isUtf8 } from "./encodings";
import { diskHash, textHash } from "./hashes";

/** How long what was done may take to be told; then the answer is that it was not. */
const TOLD_MS = 1_500;
const APPLIED_MS = 5_000;
/** Mostly it takes some hundred milliseconds. */
const RELOADED_MS = 4_000;
/** The server waits for thirty seconds. */
const SAVED_MS = 25_000;
const LOOK_MS = 10;

/** Nothing: done. A text: why not. */
type Outcome = string | undefined;

export class DocumentActions {
  /** Since a hash is asked for again and again. */
  readonly #hashes = new WeakMap<OpenDocument, { readonly version: number; readonly hash: string }>();

  constructor(private readonly editor: Editor) {}

  async read(params: ReadDocumentParams): Promise<DocumentState | null> {
    return this.#state(params.textDocument.uri, params.includeText === true);
  }

  apply(params: ApplyEditParams): Promise<DocumentActionResult> {
    return this.#acted(params, async (document) => {
      const { version } = document;
      const planned = plan(document.text(), document.lineEnd, params.edits);
      if ("objection" in planned) {
        return planned.objection;
      }
      const why = await this.#encodingObjection(document, planned.text);
      if (why !== undefined) {
        return why;
      }
      // From here to the editor's own check of the version nothing is waited for.
      if (document.version !== version) {
        return moved(document);
      }
      if (planned.text === document.text()) {
        return undefined;
      }
      if (!(await this.editor.apply(document, params.edits))) {
        await this.editor.flush();
        return document.version !== version ? moved(document) : "the editor did not take the edit";
      }
      const isThere = await until(() => document.version > version || document.isClosed, APPLIED_MS);
      return isThere ? undefined : "the editor said that it made the edit, and its text is still the same";
    });
  }

  save(params: SaveDocumentParams): Promise<DocumentActionResult> {
    return this.#acted(params, async (document) => {
      const why = (await this.#diskObjection(document, params)) ?? this.#moved(document, params);
      if (why !== undefined) {
        return why;
      }
      if (!document.isDirty) {
        return undefined;
      }
      const saved = await within(this.editor.save(document), SAVED_MS);
      if (saved === undefined) {
        return "the editor is still at saving it";
      }
      return saved ? undefined : "the editor did not write the file; its user may have been asked about it";
    });
  }

  reload(params: SaveDocumentParams): Promise<DocumentActionResult> {
    return this.#acted(params, async (document) => {
      const why = (await this.#diskObjection(document, params)) ?? this.#moved(document, params);
      if (why !== undefined) {
        return why;
      }
      if (document.isDirty) {
        return "the document has unsaved changes";
      }
      // VS Code reloads what is clean by itself when it notices. Its command for that would take whichever tabs and list
      // entries are selected, unsaved ones too.
      const { version } = document;
      if (!(await until(() => document.version !== version || document.isClosed, RELOADED_MS))) {
        return "the editor has not noticed yet that the file was changed; its user can revert the document";
      }
      return document.isDirty ? "the document was changed meanwhile" : undefined;
    });
  }

  /** Do what a request asks for if its document is still the one that it is for, and answer with how it is then. */
  async #acted(
    params: ApplyEditParams | SaveDocumentParams,
    act: (document: OpenDocument) => Promise<Outcome>,
  ): Promise<DocumentActionResult> {
    const { uri } = params.textDocument;
    await this.#told(uri);
    const document = this.editor.find(uri);
    if (document === undefined) {
      return { done: false, reason: "the document is not open", document: null };
    }
    let why: Outcome;
    try {
      why = this.#moved(document, params) ?? (await act(document));
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    const state = await this.#state(uri, false);
    return why === undefined ? { done: true, document: state } : { done: false, reason: why, document: state };
  }

  /** Wait until everything of a document was sent. */
  async #told(uri: string): Promise<void> {
    await this.editor.flush();
    const isTold = () => {
      const document = this.editor.find(uri);
      return document === undefined || this.editor.sentVersion(uri) === document.version;
    };
    if (!(await until(isTold, TOLD_MS))) {
      throw new Error("the editor has changes of this document that it does not tell");
    }
  }

  async #state(uri: string, withText: boolean): Promise<DocumentState | null> {
    await this.#told(uri);
    const document = this.editor.find(uri);
    if (document === undefined) {
      return null;
    }
    const state: DocumentState = {
      version: document.version,
      textHash: this.#hash(document),
      dirty: document.isDirty,
    };
    const autosave = this.editor.autosave(document);
    if (autosave !== undefined) {
      state.autosave = autosave;
    }
    if (withText) {
      state.text = document.text();
    }
    return state;
  }

  #hash(document: OpenDocument): string {
    const known = this.#hashes.get(document);
    if (known?.version === document.version) {
      return known.hash;
    }
    const hash = textHash(document.text());
    this.#hashes.set(document, { version: document.version, hash });
    return hash;
  }

  /** Why a document is not in the state that a request is for. */
  #moved(document: OpenDocument, params: ApplyEditParams | SaveDocumentParams): Outcome {
    if (document.isClosed) {
      return "the document was closed";
    }
    if (document.version !== params.textDocument.version) {
      return moved(document);
    }
    return this.#hash(document) === params.textHash ? undefined : "the document holds another text by now";
  }

  /** Why the file is not the one that a request is for. */
  async #diskObjection(document: OpenDocument, params: SaveDocumentParams): Promise<Outcome> {
    if (document.path === undefined) {
      return "the document has no file";
    }
    const bytes = await this.editor.readFile(document.path);
    return diskHash(bytes) === params.diskHash ? undefined : "the file on disk holds something else by now";
  }

  /** Why the text could not be saved without losing some of it. */
  async #encodingObjection(document: OpenDocument, text: string): Promise<Outcome> {
    if (isUtf8(document.encoding)) {
      return (await this.#isMisread(document))
        ? "the file is not in UTF-8, and the editor shows U+FFFD for what it cannot read: saving would destroy that. Its user can reopen it with its encoding"
        : undefined;
    }
    if (holdsEverything(document.encoding) || (await this.editor.canEncode(document, text))) {
      return undefined;
    }
    return `the file's encoding ${document.encoding} cannot hold the new text; its user can save it with encoding UTF-8`;
  }

  /** Whether U+FFFD is in the text for bytes that are no UTF-8. */
  async #isMisread(document: OpenDocument): Promise<boolean> {
    if (document.path === undefined || !document.text().includes("\uFFFD")) {
      return false;
    }
    const bytes = await this.editor.readFile(document.path);
    return bytes !== undefined && decode(bytes, "utf8") === undefined;
  }
}

function moved(document: OpenDocument): string {
  return `the document is at version ${document.version} by now`;
}

/** Look again and again. The events that a condition waits for come from several sources. */
async function until(condition: () => boolean, ms: number): Promise<boolean> {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() >= end) {
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return true;
}

/** The result, or undefined where it takes too long. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
