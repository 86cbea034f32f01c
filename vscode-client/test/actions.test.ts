import { beforeEach, describe, expect, it } from "vitest";
import { DocumentActions } from "../src/documents/actions";
import type { Editor, OpenDocument } from "../src/documents/editor";
import { type Edit, plan } from "../src/documents/edits";
import { diskHash, textHash } from "../src/documents/hashes";

const URI = "file:///w/a.txt";

class FakeDocument implements OpenDocument {
  uri = URI;
  path: string | undefined = "/w/a.txt";
  version = 1;
  isDirty = false;
  isClosed = false;
  encoding = "utf8";
  lineEnd: "\n" | "\r\n" = "\n";

  constructor(public content: string) {}

  text() {
    return this.content;
  }
  become(content: string) {
    this.content = content;
    this.version += 1;
    this.isDirty = true;
  }
}

class FakeEditor implements Editor {
  document: FakeDocument | undefined = new FakeDocument("one\ntwo\n");
  disk: Uint8Array | undefined = Buffer.from("one\ntwo\n");
  /** What the user typed and nobody heard of yet. */
  typed: string | undefined;
  sent = 1;
  log: string[] = [];
  refusesEdits = false;
  savesAs: (text: string) => string = (text) => text;
  saveWorks = true;
  reading: Error | undefined;

  find(uri: string) {
    return uri === URI ? this.document : undefined;
  }
  sentVersion() {
    return this.sent;
  }
  async flush() {
    this.log.push("flush");
    if (this.typed !== undefined) {
      this.document?.become(this.typed);
      this.typed = undefined;
    }
    this.sent = this.document?.version ?? 0;
  }
  async apply(document: OpenDocument, edits: readonly Edit[]) {
    this.log.push("apply");
    const fake = document as FakeDocument;
    if (this.refusesEdits || this.typed !== undefined) {
      return false; // as VS Code does where its text is newer than what this process knows
    }
    const planned = plan(fake.content, fake.lineEnd, edits);
    fake.become("text" in planned ? planned.text : fake.content);
    return true;
  }
  async save(document: OpenDocument) {
    this.log.push("save");
    if (!this.saveWorks) {
      return false;
    }
    const fake = document as FakeDocument;
    const text = this.savesAs(fake.content);
    if (text !== fake.content) {
      fake.become(text);
    }
    this.disk = Buffer.from(text);
    fake.isDirty = false;
    return true;
  }
  async readFile() {
    if (this.reading !== undefined) {
      throw this.reading;
    }
    return this.disk;
  }
  async canEncode(_: OpenDocument, text: string) {
    return Buffer.from(text, "latin1").toString("latin1") === text;
  }
  autosave() {
    return undefined;
  }
}

let editor: FakeEditor;
let actions: DocumentActions;

beforeEach(() => {
  editor = new FakeEditor();
  actions = new DocumentActions(editor);
});

const document = () => editor.document as FakeDocument;

function asked(version = document().version, text = document().content) {
  return {
    textDocument: { uri: URI, version },
    textHash: textHash(text),
    diskHash: diskHash(editor.disk),
    edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } }, newText: "ONE" }],
    label: "Edit",
    dialogId: "d",
  };
}

describe("reading", () => {
  it("tells what was typed a moment ago", async () => {
    editor.typed = "one\ntwo\nthree";
    expect(await actions.read({ textDocument: { uri: URI }, includeText: true })).toEqual({
      version: 2,
      textHash: textHash("one\ntwo\nthree"),
      dirty: true,
      text: "one\ntwo\nthree",
    });
  });

  it("holds no text unless it is asked for", async () => {
    expect(await actions.read({ textDocument: { uri: URI } })).not.toHaveProperty("text");
  });

  it("says of a document that is not open that it is not", async () => {
    expect(await actions.read({ textDocument: { uri: "file:///w/other" } })).toBeNull();
  });

  it("tells no state of a document whose changes are not sent", async () => {
    editor.sentVersion = () => 0;
    await expect(actions.read({ textDocument: { uri: URI } })).rejects.toThrow("does not tell");
  });

  it("counts half a surrogate pair as U+FFFD", async () => {
    document().become("a\ud800b");
    expect((await actions.read({ textDocument: { uri: URI } }))?.textHash).toBe(textHash("a\ufffdb"));
  });
});

describe("an edit", () => {
  it("is made, and answered with the state afterwards", async () => {
    expect(await actions.apply(asked())).toEqual({
      done: true,
      document: { version: 2, textHash: textHash("ONE\ntwo\n"), dirty: true },
    });
  });

  it.each([
    ["another version", () => asked(7), "the document is at version 1 by now"],
    ["another text", () => asked(1, "else"), "the document holds another text by now"],
  ])("of %s is refused with the reason", async (_, params, reason) => {
    expect(await actions.apply(params())).toMatchObject({ done: false, reason, document: { version: 1 } });
    expect(editor.log).not.toContain("apply");
  });

  it("is refused when something was typed since, before this process heard of it", async () => {
    const params = asked();
    editor.typed = "typed";
    expect(await actions.apply(params)).toMatchObject({
      done: false,
      reason: "the document is at version 2 by now",
      document: { version: 2, textHash: textHash("typed") },
    });
  });

  it("that the editor rejects because of what is typed at that moment says so", async () => {
    const params = asked();
    const apply = editor.apply.bind(editor);
    editor.apply = async (...given) => {
      editor.typed = "typed meanwhile";
      return apply(...given);
    };
    expect(await actions.apply(params)).toMatchObject({ done: false, reason: "the document is at version 2 by now" });
    expect(document().content).toBe("typed meanwhile");
  });

  it("that the editor rejects without a reason is not done", async () => {
    editor.refusesEdits = true;
    expect(await actions.apply(asked())).toMatchObject({ done: false, reason: "the editor did not take the edit" });
  });

  it("of a closed document is refused", async () => {
    document().isClosed = true;
    expect(await actions.apply(asked())).toMatchObject({ done: false, reason: "the document was closed" });
  });

  it("of a document that is not open is refused", async () => {
    const params = asked();
    editor.document = undefined;
    expect(await actions.apply(params)).toEqual({ done: false, reason: "the document is not open", document: null });
  });

  it("that changes nothing is done without asking the editor", async () => {
    const params = { ...asked(), edits: [] };
    expect(await actions.apply(params)).toMatchObject({ done: true, document: { version: 1 } });
    expect(editor.log).not.toContain("apply");
  });

  it("of a file that was misread as UTF-8 is refused", async () => {
    editor.disk = Buffer.from([0xe4, 0x0a]);
    document().content = "\ufffd\n";
    expect(await actions.apply(asked())).toMatchObject({
      done: false,
      reason: expect.stringContaining("not in UTF-8"),
    });
  });

  it("of a file that really holds U+FFFD is made", async () => {
    document().content = "one \ufffd\n";
    editor.disk = Buffer.from("one \ufffd\n");
    expect(await actions.apply(asked())).toMatchObject({ done: true });
  });

  it("that the file's encoding cannot hold is refused", async () => {
    document().encoding = "iso88591";
    const params = asked();
    expect(await actions.apply(params)).toMatchObject({ done: true });
    const next = { ...asked(), edits: [{ ...params.edits[0], newText: "→" }] } as typeof params;
    expect(await actions.apply(next)).toMatchObject({ done: false, reason: expect.stringContaining("iso88591") });
  });

  it("whose making throws is not done, with the state", async () => {
    editor.apply = async () => {
      throw new Error("no");
    };
    expect(await actions.apply(asked())).toMatchObject({ done: false, reason: "no", document: { version: 1 } });
  });
});

describe("a save", () => {
  beforeEach(() => document().become("ONE\ntwo\n"));

  it("writes the document", async () => {
    expect(await actions.save(asked())).toMatchObject({ done: true, document: { dirty: false, version: 2 } });
    expect(editor.disk).toEqual(Buffer.from("ONE\ntwo\n"));
  });

  it("tells the text that formatting left", async () => {
    editor.savesAs = (text) => `${text}formatted\n`;
    expect(await actions.save(asked())).toMatchObject({
      done: true,
      document: { dirty: false, version: 3, textHash: textHash("ONE\ntwo\nformatted\n") },
    });
  });

  it("leaves a file alone that holds something else", async () => {
    const params = asked();
    editor.disk = Buffer.from("of somebody else");
    expect(await actions.save(params)).toMatchObject({
      done: false,
      reason: "the file on disk holds something else by now",
    });
    expect(editor.log).not.toContain("save");
  });

  it("leaves a file alone that came into being", async () => {
    editor.disk = undefined;
    const params = asked();
    editor.disk = Buffer.from("");
    expect(await actions.save(params)).toMatchObject({ done: false });
  });

  it("makes a file that is not there", async () => {
    editor.disk = undefined;
    expect(await actions.save(asked())).toMatchObject({ done: true });
  });

  it("is refused for a newer document", async () => {
    const params = asked();
    editor.typed = "newer";
    expect(await actions.save(params)).toMatchObject({ done: false, reason: "the document is at version 3 by now" });
  });

  it("that the editor does not make is told", async () => {
    editor.saveWorks = false;
    expect(await actions.save(asked())).toMatchObject({ done: false, document: { dirty: true } });
  });

  it("of what autosave has written already is done", async () => {
    document().isDirty = false;
    editor.disk = Buffer.from(document().content);
    expect(await actions.save(asked())).toMatchObject({ done: true });
    expect(editor.log).not.toContain("save");
  });

  it("of a file that cannot be read says so", async () => {
    editor.reading = new Error("EACCES: permission denied");
    expect(await actions.save(asked())).toMatchObject({ done: false, reason: "EACCES: permission denied" });
  });

  it("of a document without a file is refused", async () => {
    document().path = undefined;
    expect(await actions.save(asked())).toMatchObject({ done: false, reason: "the document has no file" });
  });
});

describe("a reload", () => {
  beforeEach(() => {
    editor.disk = Buffer.from("from outside\n");
  });

  it("waits for the editor, which does it by itself", async () => {
    setTimeout(() => {
      document().become("from outside\n");
      document().isDirty = false;
    }, 50);
    expect(await actions.reload(asked())).toMatchObject({
      done: true,
      document: { version: 2, dirty: false, textHash: textHash("from outside\n") },
    });
  });

  it("that the editor does not make in time is not done", async () => {
    expect(await actions.reload(asked())).toMatchObject({ done: false, document: { version: 1 } });
  });

  it("beside which the user typed is not done", async () => {
    setTimeout(() => document().become("typed"), 20);
    expect(await actions.reload(asked())).toMatchObject({ done: false, reason: "the document was changed meanwhile" });
  });

  it("is refused for a document with unsaved changes", async () => {
    document().become("unsaved");
    expect(await actions.reload(asked())).toMatchObject({ done: false, reason: "the document has unsaved changes" });
    expect(document().content).toBe("unsaved");
  });

  it("is not done where the file is another by now", async () => {
    const params = asked();
    editor.disk = Buffer.from("changed again");
    expect(await actions.reload(params)).toMatchObject({
      done: false,
      reason: "the file on disk holds something else by now",
    });
  });
});
