/** Both sides of a change, for a diff editor: the whole text where it is at hand, else the places alone. */
import { plainText } from "./plain";

export interface Hunk {
  /** From 1, in the text before the change. */
  readonly startLine: number;
  readonly before: string;
  readonly after: string;
}

export interface Sides {
  readonly before: string;
  readonly after: string;
  /** Whether this is the whole text; if not, the places stand one below the other. */
  readonly isWholeText: boolean;
}

function withLineFeeds(text: string): string {
  return text.replace(/\r\n/g, "\n");
}

/** Where each line begins; the last entry is the end of the text. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    starts.push(at + 1);
  }
  return starts;
}

/**
 * The text with its hunks made, or undefined where they are not of this text: nothing is guessed.
 *
 * Line ends do not count, because an editor has one kind of them for the whole document.
 */
export function withHunks(text: string, hunks: readonly Hunk[]): string | undefined {
  const whole = withLineFeeds(text);
  const starts = lineStarts(whole);
  const parts: string[] = [];
  let behind = 0;
  for (const hunk of hunks) {
    const before = withLineFeeds(hunk.before);
    const start = hunk.startLine - 1 < starts.length ? starts[hunk.startLine - 1] : whole.length;
    if (start === undefined || start < behind || !whole.startsWith(before, start)) {
      return undefined;
    }
    parts.push(whole.slice(behind, start), withLineFeeds(hunk.after));
    behind = start + before.length;
  }
  return parts.join("") + whole.slice(behind);
}

function placesAlone(hunks: readonly Hunk[], side: "before" | "after", isWhole: boolean): string {
  const parts = hunks.map((hunk) => {
    const text = withLineFeeds(hunk[side]);
    return `@@ line ${hunk.startLine} @@\n${text}${text === "" || text.endsWith("\n") ? "" : "\n"}`;
  });
  return parts.join("") + (isWhole ? "" : "@@ there is more, which is not shown @@\n");
}

/**
 * What to show of a change.
 *
 * @param text the text as it is now: of the open document, else of the file; undefined where there is none to be had.
 */
export function sidesOf(text: string | undefined, hunks: readonly Hunk[], isWhole: boolean): Sides {
  const after = text === undefined || !isWhole ? undefined : withHunks(text, hunks);
  if (text !== undefined && after !== undefined) {
    return { before: plainText(text), after: plainText(after), isWholeText: true };
  }
  return {
    before: plainText(placesAlone(hunks, "before", isWhole)),
    after: plainText(placesAlone(hunks, "after", isWhole)),
    isWholeText: false,
  };
}
