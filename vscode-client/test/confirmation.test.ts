import { describe, expect, test } from "vitest";
import { confirmationOf, invocationMessage } from "../src/languageModelTools/confirmation";
import { editPlaces, writePlaces } from "../src/languageModelTools/editPlaces";

const TEXT = "one\ntwo two\nthree\n";

describe("the places of an edit", () => {
  test("are whole lines", () => {
    expect(editPlaces(TEXT, "thr", "fr", false)).toEqual({
      hunks: [{ startLine: 3, before: "three\n", after: "free\n" }],
      trouble: undefined,
    });
  });

  test("that touch are one", () => {
    expect(editPlaces(TEXT, "two", "2", true).hunks).toEqual([{ startLine: 2, before: "two two\n", after: "2 2\n" }]);
    expect(editPlaces("a\na\nb\na", "a", "x", true).hunks).toEqual([
      { startLine: 1, before: "a\n", after: "x\n" },
      { startLine: 2, before: "a\n", after: "x\n" },
      { startLine: 4, before: "a", after: "x" },
    ]);
  });

  test("are found whatever the line ends", () => {
    expect(editPlaces("a\r\nb\r\n", "a\nb", "c", false).hunks).toEqual([
      { startLine: 1, before: "a\nb\n", after: "c\n" },
    ]);
  });

  test("of a line that goes with its end do not take the next one along", () => {
    expect(editPlaces(TEXT, "one\n", "", false).hunks).toEqual([{ startLine: 1, before: "one\n", after: "" }]);
  });

  test.each([
    ["two", "there 2 times"],
    ["four", "not in the file"],
  ])("are told where the call will fail", (oldString, words) => {
    expect(editPlaces(TEXT, oldString, "x", false).trouble).toContain(words);
  });
});

describe("the places of a write", () => {
  test("are what differs", () => {
    expect(writePlaces(TEXT, "one\n2\nthree\nfour")).toEqual([
      { startLine: 2, before: "two two\n", after: "2\n" },
      { startLine: 4, before: "", after: "four" },
    ]);
    expect(writePlaces(TEXT, TEXT)).toEqual([]);
    expect(writePlaces("", "a\n")).toEqual([{ startLine: 1, before: "", after: "a\n" }]);
    expect(writePlaces("a", "")).toEqual([{ startLine: 1, before: "a", after: "" }]);
  });
});

describe("what a chat shows before a call", () => {
  test("is the change of an edit, and both sides of it for the diff editor", () => {
    const args = { filePath: "/w/a.txt", oldString: "two two", newString: "2" };
    const { title, markdown, change } = confirmationOf("Edit", args, TEXT);
    expect(title).toBe("Edit a.txt?");
    expect(markdown).toContain("```diff\n@@ line 2 @@\n-two two\n+2\n```");
    expect(change).toEqual({ path: "/w/a.txt", before: TEXT, after: "one\n2\nthree\n" });
  });

  test("says so where the text is not there", () => {
    const args = { filePath: "a.txt", oldString: "four", newString: "4" };
    const { markdown, change } = confirmationOf("Edit", args, TEXT);
    expect(markdown).toContain("not in the file");
    expect(markdown).toContain("-four\n+4");
    expect(change).toBeUndefined();
  });

  test("is a new file, or what of one becomes another", () => {
    expect(confirmationOf("Write", { filePath: "n.txt", content: "a\nb\n" }, undefined).markdown).toContain("+a\n+b\n");
    expect(confirmationOf("Write", { filePath: "n.txt", content: "one\n2\n" }, TEXT).markdown).toContain(
      "-two two\n-three\n+2\n",
    );
  });

  test("tells how much of a long change is not shown", () => {
    const content = "line\n".repeat(500);
    expect(confirmationOf("Write", { filePath: "n.txt", content }, undefined).markdown).toContain("441 more lines");
  });

  test("is a command whole, with its end where it is long, and nothing in it is Markdown", () => {
    const { markdown } = confirmationOf(
      "Shell",
      { command: "echo ```\nrm \u202e-rf", workingDirectory: "/w/[x](y)" },
      undefined,
    );
    expect(markdown).toContain("````sh\necho ```\nrm <U+202E>-rf\n````");
    expect(markdown).not.toContain("](y)");
    const long = confirmationOf("Bash", { command: `${"true\n".repeat(500)}rm -rf x` }, undefined).markdown;
    expect(long).toContain("lines are not shown");
    expect(long).toContain("rm -rf x");
  });

  test("is a URL with its host and the names of headers", () => {
    const { title, markdown } = confirmationOf(
      "WebFetch",
      { url: "https://a.example/x?y", headers: { Cookie: "z" } },
      undefined,
    );
    expect(title).toBe("Fetch from a.example?");
    expect(markdown).toContain("https://a.example/x?y");
    expect(markdown).toContain("Cookie");
    expect(markdown).not.toContain("z\n");
  });

  test("is all of the arguments of a tool that is not known", () => {
    expect(confirmationOf("Other", { a: [1] }, undefined).markdown).toContain('"a": [');
  });
});

test("while a call runs, its tool and what it is about are told", () => {
  expect(invocationMessage("Read", { filePath: "/w/src/a.txt" })).toBe("Read: a.txt");
  expect(invocationMessage("Grep", { pattern: "x" })).toBe("Grep: x");
  expect(invocationMessage("TaskList", {})).toBe("TaskList");
});
