/** The places that an Edit or a Write would change, to be shown before it is done. The server makes the change itself. */
import { structuredPatch } from "diff";
import type { Hunk } from "../dialogs/proposal";

const DIFF_TIMEOUT_MS = 300;
const PLACES_MAX = 200;

/** What would be changed; `trouble` says what stands against it. */
export interface Places {
  readonly hunks: readonly Hunk[];
  readonly trouble: string | undefined;
}

/** The lines around each occurrence, before and after. */
export function editPlaces(text: string, oldString: string, newString: string, replaceAll: boolean): Places {
  const whole = text.replace(/\r\n/g, "\n");
  const wanted = oldString.replace(/\r\n/g, "\n");
  const found = wanted === "" ? [] : occurrences(whole, wanted);
  if (found.length === 0) {
    return { hunks: [alone(oldString, newString)], trouble: "this text is not in the file at the moment" };
  }
  if (found.length > 1 && !replaceAll) {
    const hunks = found.slice(0, 1).map((at) => widened(whole, at, wanted, newString));
    return { hunks, trouble: `this text is there ${found.length} times, so that the call will fail` };
  }
  return { hunks: merged(whole, found.slice(0, PLACES_MAX), wanted, newString), trouble: undefined };
}

/** What differs between two whole texts; undefined where it takes too long to find out. */
export function writePlaces(before: string, after: string): readonly Hunk[] | undefined {
  const patch = structuredPatch("", "", before.replace(/\r\n/g, "\n"), after.replace(/\r\n/g, "\n"), "", "", {
    context: 0,
    timeout: DIFF_TIMEOUT_MS,
  });
  return patch?.hunks.map((hunk) => ({
    startLine: Math.max(1, hunk.oldStart),
    before: side(hunk.lines, "-"),
    after: side(hunk.lines, "+"),
  }));
}

function side(lines: readonly string[], sign: string): string {
  const texts: string[] = [];
  lines.forEach((line, place) => {
    if (line.startsWith(sign)) {
      texts.push(line.slice(1) + (lines[place + 1]?.startsWith("\\") ? "" : "\n"));
    }
  });
  return texts.join("");
}

function occurrences(text: string, wanted: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    found.push(at);
  }
  return found;
}

function alone(before: string, after: string): Hunk {
  return { startLine: 1, before, after };
}

/** One occurrence with the rest of its first and last line. */
function widened(text: string, at: number, wanted: string, instead: string): Hunk {
  const [hunk] = merged(text, [at], wanted, instead);
  return hunk ?? alone(wanted, instead);
}

function merged(text: string, found: readonly number[], wanted: string, instead: string): Hunk[] {
  const hunks: Hunk[] = [];
  let place = 0;
  let line = 1;
  let counted = 0;
  while (place < found.length) {
    const first = found[place] ?? 0;
    const start = text.lastIndexOf("\n", first - 1) + 1;
    const parts: string[] = [];
    let behind = start;
    let end = start;
    // Occurrences whose lines touch are one place.
    do {
      const at = found[place] ?? 0;
      parts.push(text.slice(behind, at), instead);
      behind = at + wanted.length;
      const isAtLineEnd = behind > 0 && text[behind - 1] === "\n";
      const next = isAtLineEnd ? behind : text.indexOf("\n", behind) + 1;
      end = next === 0 ? text.length : next;
      place += 1;
    } while (place < found.length && (found[place] ?? 0) < end);
    parts.push(text.slice(behind, end));
    line += text.slice(counted, start).split("\n").length - 1;
    counted = start;
    hunks.push({ startLine: line, before: text.slice(start, end), after: parts.join("") });
  }
  return hunks;
}
