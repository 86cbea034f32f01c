import { describe, expect, test } from "vitest";
import { choicesOf, headline, isChangeAlone, pageOf, rulesToRead } from "../src/dialogs/permission";
import type { PermissionChange, RequestPermissionParams } from "../src/protocol";

const CHANGE: PermissionChange = {
  path: "/w/src/a.txt",
  kind: "file",
  hunks: [{ startLine: 2, before: "two\n", after: "2\nzwei\n" }],
  hunkCount: 1,
  removedLines: 1,
  addedLines: 2,
  beforeBytes: 14,
  afterBytes: 17,
  isWhole: true,
  isCounted: true,
  inSandbox: false,
};

function request(more: Partial<RequestPermissionParams> = {}): RequestPermissionParams {
  return {
    dialogId: "d1",
    message: "in words",
    callId: "c1",
    tool: "Edit",
    capabilities: ["FILE_WRITE"],
    reason: "the rule Edit asks",
    targets: [{ kind: "file", path: "/w/src/a.txt", access: "FILE_WRITE", exists: true }],
    change: CHANGE,
    rules: [],
    ...more,
  };
}

const COMMAND = request({
  tool: "Shell",
  change: undefined,
  targets: [
    { kind: "command", command: "cd a\nrm -rf \u202eb", argv: ["/usr/bin/bash", "-c"], cwd: "/w", confinedBy: "" },
  ],
  containment: "nothing confines it",
});

describe("the answers to a permission", () => {
  test("are once and no where there are no rules for more", () => {
    expect(choicesOf(request()).map(({ outcome }) => outcome)).toEqual(["once", "no"]);
  });

  test("for longer say word for word which rules count from then on", () => {
    const choices = choicesOf(request({ rules: ["Edit(/w/src/a.txt)", "Read(/w/\u200bb)"] }));
    expect(choices.map(({ outcome }) => outcome)).toEqual(["once", "session", "always", "no"]);
    for (const { detail } of choices.slice(1, 3)) {
      expect(detail).toContain("Edit(/w/src/a.txt), Read(/w/<U+200B>b)");
    }
  });
});

test("rules that one row does not hold are read whole before they count", () => {
  const long = request({ rules: [`Edit(/w/${"a".repeat(80)}\u202e)`, "Read(b)"] });
  expect(rulesToRead(long, "always")).toBe(`Edit(/w/${"a".repeat(80)}<U+202E>)\nRead(b)`);
  expect(rulesToRead(long, "once")).toBeUndefined();
  expect(rulesToRead(request({ rules: ["Read(b)"] }), "session")).toBeUndefined();
});

describe("a permission in words", () => {
  test.each([
    [request(), "Edit a.txt (+2 −1)"],
    [request({ tool: "Own", change: { ...CHANGE, beforeBytes: null } }), "Own: make a.txt (+2 −1)"],
    [
      request({ tool: "Own", change: { ...CHANGE, afterBytes: null, isCounted: false } }),
      "Own: delete a.txt (+2 −1, and more)",
    ],
    [COMMAND, "Shell: run cd a ⏎ rm -rf <U+202E>b"],
    [request({ change: undefined, targets: [] }), "Edit wants to act"],
  ])("has a headline", (params, words) => {
    expect(headline(params)).toBe(words);
  });

  test("shows a command whole, each line for itself, where it starts and that nothing confines it", () => {
    expect(pageOf(COMMAND)).toEqual([
      "Shell wants to run a command",
      "",
      "Command:",
      "  $ cd a",
      "  $ rm -rf <U+202E>b",
      "Starts in: /w",
      "Program: /usr/bin/bash",
      "Containment: nothing confines it",
      "Why you are asked: the rule Edit asks",
    ]);
  });

  test("shows a URL with its method, and the arguments where nothing else is known", () => {
    const url = request({
      tool: "WebFetch",
      change: undefined,
      targets: [{ kind: "url", url: "https://a.example/x", host: "a.example", port: 443, method: "GET" }],
    });
    expect(pageOf(url)).toContain("GET: https://a.example/x");
    expect(pageOf(url)).toContain("Host: a.example, port 443");
    expect(pageOf(request({ change: undefined, targets: [], arguments: '{"a": 1}' }))).toContain('Arguments: {"a": 1}');
  });

  test("tells that a change is not shown whole", () => {
    const page = pageOf(request({ change: { ...CHANGE, isWhole: false, hunkCount: 7 } }));
    expect(page.slice(-5)).toEqual([
      "@@ line 2 @@",
      "-two",
      "+2",
      "+zwei",
      "(not all of it: 1 of 7 places are here, and the last may be cut)",
    ]);
  });
});

describe("the diff editor alone", () => {
  test("is enough for the text of one file", () => {
    expect(isChangeAlone(request())).toBe(true);
  });

  test.each([
    ["a command besides", request({ targets: [...request().targets, ...COMMAND.targets] })],
    ["another file besides", request({ targets: [{ kind: "file", path: "/w/b.txt", access: "FILE_READ" }] })],
    ["a link", request({ change: { ...CHANGE, kind: "link" } })],
    ["contents that are no text", request({ change: { ...CHANGE, hunks: [] } })],
    ["no change", COMMAND],
  ])("is not enough with %s", (_, params) => {
    expect(isChangeAlone(params)).toBe(false);
  });
});
