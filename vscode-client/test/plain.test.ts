import { describe, expect, test } from "vitest";
import { label, markdownBlock, markdownWords, plainLine, plainLines, plainText, short } from "../src/dialogs/plain";

describe("text that may be meant to deceive", () => {
  test.each([
    ["a\u202eb", "a<U+202E>b"],
    ["a\u200bb", "a<U+200B>b"],
    ["\u0007", "<U+0007>"],
    ["a\u3164", "a<U+3164>"],
    ["\ud800x", "<U+D800>x"],
    ["\u{e0041}", "<U+E0041>"],
    ["a\tb", "a\tb"],
    ["größer 😀 日本", "größer 😀 日本"],
  ])("what is not plainly seen in %j is written out", (text, shown) => {
    expect(plainLine(text)).toBe(shown);
  });

  test("many blanks do not push the rest out of sight", () => {
    expect(plainLine(`rm a${" ".repeat(400)}; rm b`)).toBe("rm a …(400 blanks)… ; rm b");
  });

  test("many marks on one letter are written out", () => {
    expect(plainLine(`a${"\u0301".repeat(6)}`)).toBe(`a${"<U+0301>".repeat(6)}`);
  });

  test("each line is for itself, whatever ends it", () => {
    expect(plainLines("a\r\nb\rc\n")).toEqual(["a", "b", "c"]);
    expect(plainLines("")).toEqual([""]);
  });

  test("a text for an editor keeps its lines and blanks", () => {
    expect(plainText(`a  b\r\n\u202ec\n${" ".repeat(99)}d`)).toBe(`a  b\n<U+202E>c\n${" ".repeat(99)}d`);
  });
});

describe("text in a small place", () => {
  test("is cut by characters, not in the middle of one", () => {
    expect(short("😀😀😀😀", 3)).toBe("😀😀…");
    expect(short("a\n  b", 20)).toBe("a ⏎ b");
  });

  test("has no icon and no link of its own", () => {
    expect(label("$(check) [Allow](command:x)", 100)).not.toMatch(/\$\(|\]\(/);
  });
});

describe("text in Markdown", () => {
  test("is words, whatever it says", () => {
    const shown = markdownWords("**a** [b](command:c) <img src=x> `d` # e | f");
    expect(shown).not.toMatch(/[*[\]()<>`|]/);
  });

  test("cannot end its block of code", () => {
    expect(markdownBlock("a\n```\n[b](c)\n````", "sh")).toBe("\n`````sh\na\n```\n[b](c)\n````\n`````\n");
  });
});
