/** The edits of a text, as LSP has them in UTF-16: what they make of it, and whether they can be made at all. Pure. */

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Edit {
  readonly range: { readonly start: Position; readonly end: Position };
  readonly newText: string;
}

export type Plan = { readonly text: string } | { readonly objection: string };

/** What the text becomes; where it cannot be told, why. Line ends of new text become `lineEnd`, as the editor has it. */
export function plan(text: string, lineEnd: string, edits: readonly Edit[]): Plan {
  if (!Array.isArray(edits) || !edits.every(isEdit)) {
    return { objection: "the edits cannot be read" };
  }
  const starts = lineStarts(text);
  const parts: string[] = [];
  let reached = 0;
  for (const edit of edits) {
    const first = offsetAt(text, starts, edit.range.start);
    const last = offsetAt(text, starts, edit.range.end);
    if (first < reached || last < first) {
      return { objection: "the edits overlap or are not ascending" };
    }
    if (isInsideLineEnd(text, first) || isInsideLineEnd(text, last)) {
      return { objection: "an edit begins or ends within a line end" };
    }
    parts.push(text.slice(reached, first), edit.newText.replace(/\r\n|\r|\n/g, lineEnd));
    reached = last;
  }
  parts.push(text.slice(reached));
  return { text: parts.join("") };
}

function isEdit(edit: unknown): edit is Edit {
  const { range, newText } = (edit ?? {}) as Partial<Edit>;
  return typeof newText === "string" && isPosition(range?.start) && isPosition(range?.end);
}

function isPosition(position: unknown): position is Position {
  const { line, character } = (position ?? {}) as Partial<Position>;
  return Number.isInteger(line) && Number.isInteger(character) && (line ?? -1) >= 0 && (character ?? -1) >= 0;
}

/** Offsets at which LSP's lines begin: behind `\n`, `\r\n` and a lone `\r`. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (const found of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(found.index + found[0].length);
  }
  return starts;
}

/** A character behind the end of its line is before the line end, a line behind the last one is the end. */
function offsetAt(text: string, starts: readonly number[], position: Position): number {
  const start = starts[position.line];
  if (start === undefined) {
    return text.length;
  }
  const next = starts[position.line + 1];
  let end = next ?? text.length;
  while (next !== undefined && end > start && /[\r\n]/.test(text.charAt(end - 1))) {
    end -= 1;
  }
  return Math.min(start + position.character, end);
}

function isInsideLineEnd(text: string, offset: number): boolean {
  return text.charAt(offset - 1) === "\r" && text.charAt(offset) === "\n";
}
