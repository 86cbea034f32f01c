import { describe, expect, it } from "vitest";
import type { TextDocument, TextDocumentChangeEvent } from "vscode";
import { decode } from "../src/documents/encodings";
import { SyncedDocuments } from "../src/documents/synced";

function made(onDisk?: string) {
  const sent: unknown[] = [];
  const synced = new SyncedDocuments(
    async (uri, version, text) => {
      sent.push(["change", uri, version, text]);
    },
    async (uri) => {
      sent.push(["saved", uri]);
    },
    () => onDisk,
  );
  const next = async (document: TextDocument) => {
    sent.push(["open", document.uri.toString(), document.version, document.getText(), document.languageId]);
  };
  return { sent, synced, next };
}

function document(text: string, isDirty: boolean, version = 1) {
  const content = { version, isDirty, languageId: "plaintext", getText: () => text };
  return { ...content, uri: { scheme: "file", toString: () => "file:///a" } } as unknown as TextDocument;
}

describe("what the server is told of an opened document", () => {
  it("is its text where nothing is unsaved", async () => {
    const { sent, synced, next } = made("other");
    await synced.middleware.didOpen(document("text", false), next);
    expect(sent).toEqual([["open", "file:///a", 1, "text", "plaintext"]]);
    expect(synced.version("file:///a")).toBe(1);
  });

  it("is the file's text and then the unsaved one, for what was restored", async () => {
    const { sent, synced, next } = made("saved");
    const opened = document("unsaved", true);
    await synced.middleware.didOpen(opened, next);
    expect(sent).toEqual([
      ["open", "file:///a", 0, "saved", "plaintext"],
      ["change", "file:///a", 1, "unsaved"],
    ]);
    expect(synced.version("file:///a")).toBe(1);
    expect(synced.find("file:///a")).toBe(opened);
  });

  it("is the unsaved text where the file cannot be read", async () => {
    const { sent, synced, next } = made();
    await synced.middleware.didOpen(document("unsaved", true), next);
    expect(sent).toEqual([["open", "file:///a", 1, "unsaved", "plaintext"]]);
  });
});

describe("the version that was sent", () => {
  it("is the new one only when the change was written", async () => {
    const { synced, next } = made();
    const opened = document("text", false) as { version: number } & TextDocument;
    await synced.middleware.didOpen(opened, next);
    let written: () => void = () => {};
    (opened as { version: number }).version = 2;
    const change = synced.middleware.didChange(
      { document: opened } as TextDocumentChangeEvent,
      () =>
        new Promise((resolve) => {
          written = resolve;
        }),
    );
    expect(synced.version("file:///a")).toBe(1);
    written();
    await change;
    expect(synced.version("file:///a")).toBe(2);
  });

  it("is none after the document was closed", async () => {
    const { synced, next } = made();
    const opened = document("text", false);
    await synced.middleware.didOpen(opened, next);
    await synced.middleware.didClose(opened, async () => {});
    expect(synced.find("file:///a")).toBeUndefined();
    expect(synced.version("file:///a")).toBeUndefined();
  });
});

describe("bytes as text", () => {
  it.each([
    ["utf8", Buffer.from("ä"), "ä"],
    ["utf8", Buffer.from("\ufeffä"), "ä"],
    ["utf8bom", Buffer.from("\ufeffä"), "ä"],
    ["utf8", Buffer.from([0xe4]), undefined],
    ["iso88591", Buffer.from([0xe4]), "ä"],
    ["utf16le", Buffer.from("\ufeffä", "utf16le"), "ä"],
    ["utf16be", Buffer.from([0xfe, 0xff, 0, 0xe4]), "ä"],
    ["cp437", Buffer.from("a"), undefined],
  ])("in %s", (encoding, bytes, text) => {
    expect(decode(bytes, encoding)).toBe(text);
  });
});

describe("what the server is told of a saved document", () => {
  const edited = (text: string, version: number) =>
    ({ document: document(text, true, version), contentChanges: [] }) as unknown as TextDocumentChangeEvent;

  async function typedOn(onDisk: string) {
    const { sent, synced, next } = made(onDisk);
    const ignore = async () => {};
    await synced.middleware.didOpen(document("a", false), ignore);
    synced.willSave(document("ab", true, 2));
    await synced.middleware.didChange(edited("abc", 3), ignore);
    await synced.middleware.didChange(edited("abcd", 4), ignore);
    await synced.middleware.didSave(document("abcd", false, 4), next);
    return sent;
  }

  it("is the text that is on disk, and then what was typed on meanwhile", async () => {
    expect(await typedOn("abc")).toEqual([
      ["change", "file:///a", 4, "abc"],
      ["open", "file:///a", 4, "abc", "plaintext"],
      ["change", "file:///a", 4, "abcd"],
    ]);
  });

  it("is its text where the disk holds that, or what never was the document's", async () => {
    const plain = [["open", "file:///a", 4, "abcd", "plaintext"]];
    expect(await typedOn("abcd")).toEqual(plain);
    expect(await typedOn("of somebody else")).toEqual(plain);
  });
});

describe("what the server is told of a changed document", () => {
  const changedTo = async (text: string, isDirty: boolean, onDisk: string) => {
    const { sent, synced } = made(onDisk);
    await synced.middleware.didOpen(document("a", false), async () => {});
    const event = { document: document(text, isDirty, 2), contentChanges: [] } as unknown as TextDocumentChangeEvent;
    await synced.middleware.didChange(event, async () => {
      sent.push("changed");
    });
    return sent;
  };

  it("is that it is the file's where it was reverted or loaded anew", async () => {
    expect(await changedTo("of the file", false, "of the file")).toEqual(["changed", ["saved", "file:///a"]]);
  });

  it("is the change alone where somebody typed", async () => {
    expect(await changedTo("typed first", false, "of the file")).toEqual(["changed"]);
    expect(await changedTo("of the file", true, "of the file")).toEqual(["changed"]);
  });
});
