import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { misfit } from "../src/languageModelTools/arguments";
import { contributedTools, serverName } from "../src/languageModelTools/names";
import { textOfOutcome, withinBudget } from "../src/languageModelTools/result";

const PACKAGE: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const TOOLS = contributedTools(PACKAGE);

function schemaOf(name: string): object {
  const tool = TOOLS.find((each) => serverName(each.name) === name);
  if (!tool) {
    throw new Error(`no ${name}`);
  }
  return tool.inputSchema;
}

describe("the contributed tools", () => {
  test("have names that the server knows, and that prompts can refer to", () => {
    expect(TOOLS.map(({ name }) => serverName(name))).toEqual(
      expect.arrayContaining(["Read", "Edit", "Write", "Grep"]),
    );
    expect(new Set(TOOLS.map(({ toolReferenceName }) => toolReferenceName)).size).toBe(TOOLS.length);
  });

  test("are none in a package without them", () => {
    expect(contributedTools({})).toEqual([]);
    expect(contributedTools({ contributes: { languageModelTools: [{ name: "other_tool" }] } })).toEqual([]);
  });
});

describe("arguments", () => {
  test.each([
    ["Read", { filePath: "a.txt", limit: 3 }],
    ["AskUserQuestion", { questions: [{ question: "x", options: ["a", { label: "b" }] }] }],
    ["TaskList", { state: null }],
    ["WebSearch", { query: "x", language: "pt-BR" }],
  ])("that fit %s are taken", (tool, args) => {
    expect(misfit(tool, schemaOf(tool), args)).toBeUndefined();
  });

  test.each([
    ["Read", {}, "filePath"],
    ["Read", { filePath: 3 }, "filePath"],
    ["Read", { filePath: "a", offset: 0 }, "offset"],
    ["Read", { filePath: "a", lines: 3 }, "lines"],
    ["Grep", { pattern: "x", outputMode: "all" }, "outputMode"],
    ["Edit", [], "one object"],
    ["Edit", null, "one object"],
    ["AskUserQuestion", { questions: [{ question: "x", options: [{}] }] }, "questions"],
  ])("that do not fit %s are told by what is wrong: %j", (tool, args, words) => {
    expect(misfit(tool, schemaOf(tool), args)).toContain(words);
  });

  test("that do not fit are told with those that there are", () => {
    expect(misfit("Read", schemaOf("Read"), {})).toMatch(/It takes: filePath, offset\?, limit\?$/);
  });
});

describe("what a model is told", () => {
  test.each([
    ["an output", { isError: false, data: { success: true, output: "text" } }, "text"],
    [
      "a failure",
      { isError: true, data: { success: false, output: "", error: "no such file" } },
      "The call failed: no such file",
    ],
    [
      "a failure with an output",
      { isError: true, data: { output: "so far", error: "timeout" } },
      "The call failed: timeout\nso far",
    ],
    [
      "a refusal",
      { isError: true, error: { type: "PermissionDeniedError", message: "no" } },
      "The call failed (PermissionDeniedError): no",
    ],
    ["data of another tool", { isError: false, data: { a: 1 } }, '{"a":1}'],
    ["a failure of another tool", { isError: true, data: [1] }, "The call failed: [1]"],
    ["nothing", { isError: false }, ""],
  ])("of %s", (_, outcome, words) => {
    expect(textOfOutcome({ name: "X", ...outcome })).toBe(words);
  });
});

describe("a budget of tokens", () => {
  const text = "0123456789\n".repeat(1_000);

  test("is no matter where there is none, or it suffices", async () => {
    expect(await withinBudget(text, undefined)).toBe(text);
    expect(await withinBudget(text, { tokenBudget: 1e6, countTokens: async (words) => words.length })).toBe(text);
  });

  test("cuts at a line, tells that and what to do, and keeps within it", async () => {
    const countTokens = vi.fn(async (words: string) => words.length / 4);
    const shown = await withinBudget(text, { tokenBudget: 500, countTokens });
    expect(shown.length / 4).toBeLessThanOrEqual(500);
    expect(shown).toMatch(/9\n\(This is partial: \d+ of 11000 characters are shown/);
    expect(countTokens.mock.calls.length).toBeLessThan(7);
  });
});
