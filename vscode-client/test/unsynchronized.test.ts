import { describe, expect, it } from "vitest";
import { type ShownFile, unsynchronized } from "../src/documents/unsynchronized";

const FILE = "file:///w/n.ipynb";

function shown(given: Partial<ShownFile>): ShownFile {
  return { kind: "text", scheme: "file", isDirty: true, fileUri: FILE, hasFile: true, ...given };
}

describe("documents whose unsaved text nobody tells", () => {
  it.each([
    ["a notebook", { kind: "notebook" }, "notebook"],
    ["a custom editor", { kind: "custom" }, "editor of its own kind"],
    ["a text that is too large", { kind: "text" }, "50 MB"],
    ["a new document that has the name of a file", { scheme: "untitled" }, "never saved"],
  ] as const)("are %s", (_, given, reason) => {
    expect(unsynchronized([shown(given)], () => false)).toEqual([
      { uri: FILE, reason: expect.stringContaining(reason) },
    ]);
  });

  it.each([
    ["what is saved", { kind: "notebook", isDirty: false }],
    ["a new document without a name", { scheme: "untitled", hasFile: false }],
    ["a file of another kind of place", { scheme: "git" }],
  ] as const)("are not %s", (_, given) => {
    expect(unsynchronized([shown(given)], () => false)).toEqual([]);
  });

  it("are no texts that are told", () => {
    expect(unsynchronized([shown({})], (uri) => uri === FILE)).toEqual([]);
    expect(unsynchronized([shown({ kind: "notebook" })], () => true)).toHaveLength(1);
  });

  it("are each told once", () => {
    expect(unsynchronized([shown({ kind: "custom" }), shown({ kind: "custom" })], () => false)).toHaveLength(1);
  });
});
