/** A question of the agent's: its items in a quick pick, and the values that an answer has. */
import type { AskUserParams, AskUserResult } from "../protocol";
import { label, plainLine, plainLines } from "./plain";

/** One row; `place` is that of the option, undefined for the user's own text. */
export interface Row {
  readonly place: number | undefined;
  readonly label: string;
  readonly description: string;
  readonly detail: string;
}

const LABEL_MAX = 200;
const DETAIL_MAX = 600;

/** Whether it is answered in an input box: there is nothing to choose. */
export function isTextAlone(params: AskUserParams): boolean {
  return params.options.length === 0;
}

/** The title of the dialog. */
export function titleOf(params: AskUserParams): string {
  return params.header ? label(params.header, 80) : "A question";
}

/** The options as rows, and the text that the user has entered as one more, where texts are taken. */
export function rowsOf(params: AskUserParams, typed: string): Row[] {
  const rows: Row[] = params.options.map((option, place) => ({
    place,
    label: label(option.label, LABEL_MAX),
    description: "",
    detail: option.description ? label(option.description, DETAIL_MAX) : "",
  }));
  if (params.freeText && typed.trim() !== "") {
    rows.push({ place: undefined, label: label(typed.trim(), LABEL_MAX), description: "your own text", detail: "" });
  }
  return rows;
}

/** The answer that chosen rows are; undefined where they are none yet. */
export function answerOf(params: AskUserParams, chosen: readonly Row[], typed: string): AskUserResult | undefined {
  const values = chosen.map((row) =>
    row.place === undefined ? typed.trim() : (params.options[row.place]?.label ?? ""),
  );
  const distinct = [...new Set(values)].filter((value) => value !== "");
  if (distinct.length === 0 || (!params.multiSelect && distinct.length > 1)) {
    return undefined;
  }
  return { outcome: "answered", values: distinct };
}

/** The answer that a text alone is; undefined where it is empty. */
export function answerOfText(text: string): AskUserResult | undefined {
  return text.trim() === "" ? undefined : { outcome: "answered", values: [text.trim()] };
}

/** What the input of the quick pick says while nothing is typed. */
export function placeholderOf(params: AskUserParams): string {
  if (isTextAlone(params)) {
    return "Your answer";
  }
  const choose = params.multiSelect ? "Choose one or more" : "Choose one";
  return params.freeText ? `${choose}, or type an answer of your own` : choose;
}

/** A title wraps; an option does not. */
const TITLE_CHARS = 300;
const ROW_CHARS = 90;
/** So many lines of a page lie behind the dialog, and two more for each option. */
const COVERED_LINES = 5;
const COVERED_MOST = 24;

/** A question that one row of a dialog does not hold, as a page; undefined where it does. */
export function pageOfQuestion(params: AskUserParams): string | undefined {
  const isLong = ({ label: words, description }: { label: string; description?: string }) =>
    words.length > ROW_CHARS || (description ?? "").length > ROW_CHARS;
  if (params.text.length <= TITLE_CHARS && !/[\r\n]/.test(params.text) && !params.options.some(isLong)) {
    return undefined;
  }
  const options = params.options.flatMap((option) => [
    "",
    `• ${plainLine(option.label)}`,
    ...(option.description ? plainLines(option.description).map((line) => `    ${line}`) : []),
  ]);
  const covered = Math.min(COVERED_MOST, COVERED_LINES + 2 * params.options.length);
  return `${[...Array<string>(covered).fill(""), ...plainLines(params.text), ...options].join("\n")}\n`;
}

/** The question as the dialog's title has it. */
export function titleOfQuestion(params: AskUserParams): string {
  const header = params.header ? `${titleOf(params)}: ` : "";
  return header + label(params.text, TITLE_CHARS);
}
