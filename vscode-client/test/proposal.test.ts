import { describe, expect, test } from "vitest";
import { sidesOf, withHunks } from "../src/dialogs/proposal";

const TEXT = "one\ntwo\nthree\n";

describe("hunks in a text", () => {
  test.each([
    ["a line in the middle", TEXT, [{ startLine: 2, before: "two\n", after: "2\n" }], "one\n2\nthree\n"],
    ["lines that come", TEXT, [{ startLine: 2, before: "", after: "new\n" }], "one\nnew\ntwo\nthree\n"],
    ["lines at the end", TEXT, [{ startLine: 4, before: "", after: "four\n" }], "one\ntwo\nthree\nfour\n"],
    ["a last line without its end", "a\nb", [{ startLine: 2, before: "b", after: "c\n" }], "a\nc\n"],
    ["a new file", "", [{ startLine: 1, before: "", after: "x\n" }], "x\n"],
    ["the whole of it", TEXT, [{ startLine: 1, before: TEXT, after: "" }], ""],
    ["another line end", "a\r\nb\r\n", [{ startLine: 2, before: "b\r\n", after: "c\r\n" }], "a\nc\n"],
    [
      "several places",
      TEXT,
      [
        { startLine: 1, before: "one\n", after: "1\n1\n" },
        { startLine: 3, before: "three\n", after: "" },
      ],
      "1\n1\ntwo\n",
    ],
  ])("change %s", (_, text, hunks, changed) => {
    expect(withHunks(text, hunks)).toBe(changed);
  });

  test.each([
    ["of another text", [{ startLine: 2, before: "zwei\n", after: "2\n" }]],
    ["behind the end", [{ startLine: 9, before: "two\n", after: "2\n" }]],
    [
      "one over the other",
      [
        { startLine: 1, before: "one\ntwo\n", after: "" },
        { startLine: 2, before: "two\n", after: "" },
      ],
    ],
  ])("%s are not guessed at", (_, hunks) => {
    expect(withHunks(TEXT, hunks)).toBeUndefined();
  });
});

describe("the sides of a diff", () => {
  const hunks = [{ startLine: 2, before: "two\n", after: "2\u202e\n" }];

  test("are the whole text, with what is not plainly seen written out", () => {
    expect(sidesOf(TEXT, hunks, true)).toEqual({
      before: TEXT,
      after: "one\n2<U+202E>\nthree\n",
      isWholeText: true,
    });
  });

  test.each([
    ["the text is another one by now", "other\n", true],
    ["there is no text", undefined, true],
  ])("are the places alone where %s", (_, text, isWhole) => {
    expect(sidesOf(text, hunks, isWhole)).toEqual({
      before: "@@ line 2 @@\ntwo\n",
      after: "@@ line 2 @@\n2<U+202E>\n",
      isWholeText: false,
    });
  });

  test("tell where there is more than what came", () => {
    expect(sidesOf(TEXT, hunks, false).after).toContain("there is more, which is not shown");
  });
});
