import { describe, expect, test } from "vitest";
import {
  answerOf,
  answerOfText,
  isTextAlone,
  pageOfQuestion,
  rowsOf,
  titleOf,
  titleOfQuestion,
} from "../src/dialogs/question";
import type { AskUserParams } from "../src/protocol";

function question(more: Partial<AskUserParams> = {}): AskUserParams {
  return {
    dialogId: "q1",
    text: "Which one?",
    options: [{ label: "A", description: "the first" }, { label: "$(x) B" }],
    multiSelect: false,
    freeText: false,
    ...more,
  };
}

describe("a question", () => {
  test("has its options as rows, in which nothing is an icon", () => {
    const rows = rowsOf(question(), "");
    expect(rows.map(({ place }) => place)).toEqual([0, 1]);
    expect(rows[0]).toMatchObject({ label: "A", detail: "the first" });
    expect(rows[1]?.label).not.toContain("$(");
  });

  test("is answered by the label as it came, not as it is shown", () => {
    const rows = rowsOf(question(), "");
    expect(answerOf(question(), rows.slice(1), "")).toEqual({ outcome: "answered", values: ["$(x) B"] });
  });

  test("takes a text of the user's own only where it may", () => {
    expect(rowsOf(question(), "mine")).toHaveLength(2);
    const rows = rowsOf(question({ freeText: true }), " mine ");
    expect(rows).toHaveLength(3);
    expect(answerOf(question({ freeText: true }), rows.slice(2), " mine ")).toEqual({
      outcome: "answered",
      values: ["mine"],
    });
  });

  test("takes several answers only where it may, and at least one", () => {
    const rows = rowsOf(question(), "");
    expect(answerOf(question(), rows, "")).toBeUndefined();
    expect(answerOf(question({ multiSelect: true }), [], "")).toBeUndefined();
    expect(answerOf(question({ multiSelect: true }), rows, "")).toEqual({
      outcome: "answered",
      values: ["A", "$(x) B"],
    });
  });

  test("without options is answered by a text that is not empty", () => {
    expect(isTextAlone(question({ options: [] }))).toBe(true);
    expect(answerOfText("  ")).toBeUndefined();
    expect(answerOfText(" yes ")).toEqual({ outcome: "answered", values: ["yes"] });
  });

  test("has a page where one row does not hold it", () => {
    expect(pageOfQuestion(question())).toBeUndefined();
    expect(pageOfQuestion(question({ text: "One\nTwo" }))).toMatch(
      /^\n{9}One\nTwo\n\n• A\n {4}the first\n\n• \$\(x\) B\n$/,
    );
  });

  test("stands whole in the title where it is not too long for that", () => {
    expect(titleOfQuestion(question({ header: "H", text: "a".repeat(250) }))).toBe(`H: ${"a".repeat(250)}`);
    expect(pageOfQuestion(question({ text: "a".repeat(250) }))).toBeUndefined();
    expect(pageOfQuestion(question({ text: "a".repeat(301) }))).toContain("a".repeat(301));
    expect(pageOfQuestion(question({ options: [{ label: "A", description: "b".repeat(91) }] }))).toContain(
      "b".repeat(91),
    );
  });

  test("is called by its header", () => {
    expect(titleOf(question({ header: "Colour" }))).toBe("Colour");
    expect(titleOf(question())).toBe("A question");
  });
});
