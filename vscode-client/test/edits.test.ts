import { describe, expect, it } from "vitest";
import { type Edit, plan } from "../src/documents/edits";

function edit(from: [number, number], to: [number, number], newText: string): Edit {
  return { range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } }, newText };
}

describe("what edits make of a text", () => {
  it.each([
    ["nothing", "a\nb\n", "\n", [], "a\nb\n"],
    ["a word", "one two\n", "\n", [edit([0, 4], [0, 7], "three")], "one three\n"],
    ["two places", "a\nb\nc", "\n", [edit([0, 0], [0, 1], "x"), edit([2, 0], [2, 1], "z")], "x\nb\nz"],
    ["an empty text", "", "\n", [edit([0, 0], [0, 0], "new\n")], "new\n"],
    ["behind the last line", "a\n", "\n", [edit([1, 0], [1, 0], "b\n")], "a\nb\n"],
    ["a line that is not there", "a", "\n", [edit([7, 0], [9, 3], "b")], "ab"],
    ["a character behind its line", "ab\ncd", "\n", [edit([0, 9], [0, 9], "!")], "ab!\ncd"],
    ["line ends of the document", "a\r\nb\r\n", "\r\n", [edit([1, 0], [1, 1], "x\ny")], "a\r\nx\r\ny\r\n"],
    ["a character of two units", "a😀b", "\n", [edit([0, 1], [0, 3], "-")], "a-b"],
    ["a whole line", "a\r\nb\r\nc", "\r\n", [edit([1, 0], [2, 0], "")], "a\r\nc"],
    ["edits that touch", "abc", "\n", [edit([0, 1], [0, 2], "x"), edit([0, 2], [0, 2], "y")], "axyc"],
  ] as const)("%s", (_, text, lineEnd, edits, expected) => {
    expect(plan(text, lineEnd, edits)).toEqual({ text: expected });
  });

  it.each([
    ["that overlap", [edit([0, 0], [0, 3], "x"), edit([0, 2], [0, 4], "y")]],
    ["that go back", [edit([1, 0], [1, 1], "x"), edit([0, 0], [0, 1], "y")]],
    ["that end before they begin", [edit([0, 3], [0, 1], "x")]],
    ["at negative places", [edit([-1, 0], [0, 1], "x")]],
    ["without a text", [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } } }]],
    ["that are none", [null]],
    ["that are no list", "x"],
  ])("refuses edits %s", (_, edits) => {
    expect(plan("abcdef\nghi\n", "\n", edits as Edit[])).toHaveProperty("objection");
  });
});
