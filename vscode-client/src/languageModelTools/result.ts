/** What a model is told of a call. */
import type { CallToolResult } from "../protocol";

/** The data of a built-in tool; a tool of somebody else's may return anything. */
interface BuiltinData {
  readonly success?: unknown;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly images?: unknown;
}

/** The answer of a tool in words. A failure begins with what it is, so that it is not taken for content. */
export function textOfOutcome(outcome: CallToolResult): string {
  if (outcome.error) {
    return `The call failed (${outcome.error.type}): ${outcome.error.message}`;
  }
  const data = (typeof outcome.data === "object" && outcome.data !== null ? outcome.data : {}) as BuiltinData;
  const output = typeof data.output === "string" ? data.output : undefined;
  if (outcome.isError) {
    const why = typeof data.error === "string" ? data.error : (output ?? json(outcome.data));
    const rest = output && output !== why ? `\n${output}` : "";
    return `The call failed: ${why}${rest}`;
  }
  const images =
    Array.isArray(data.images) && data.images.length > 0 ? `\n(${data.images.length} images are not shown here)` : "";
  return (output ?? json(outcome.data)) + images;
}

function json(data: unknown): string {
  return typeof data === "string" ? data : (JSON.stringify(data) ?? "");
}

/** What of a model's budget is used, where it has one. */
export interface Budget {
  readonly tokenBudget: number;
  countTokens(text: string): Thenable<number>;
}

const TRIES = 6;

/** The text within the budget; what is cut is told, with how to get the rest. */
export async function withinBudget(text: string, budget: Budget | undefined): Promise<string> {
  if (!budget || budget.tokenBudget <= 0) {
    return text;
  }
  let shown = text;
  for (let round = 0; round < TRIES; round += 1) {
    const tokens = await budget.countTokens(shown);
    if (tokens <= budget.tokenBudget) {
      return shown;
    }
    const kept = Math.floor((shown.length * budget.tokenBudget * 0.9) / tokens);
    shown = cut(text, Math.max(0, Math.min(kept, shown.length - 1)));
  }
  return cut(text, 0);
}

function cut(text: string, most: number): string {
  const end = /[\ud800-\udbff]$/.test(text.slice(0, most)) ? most - 1 : most;
  const line = text.lastIndexOf("\n", end);
  const at = line > end / 2 ? line : end;
  return (
    `${text.slice(0, at)}\n(This is partial: ${at} of ${text.length} characters are shown, which is what there was room for. ` +
    "Ask for less at a time: a slice by offset and limit, a smaller limit, or a narrower search.)"
  );
}
