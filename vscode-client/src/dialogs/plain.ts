/**
 * Text of files, commands and agents as a person can trust to see it: what is not plainly seen, or changes how other
 * characters are seen, is written out. Imports nothing.
 */

const UNSEEN =
  /\p{Cc}|\p{Cf}|\p{Cs}|\p{Co}|\p{Cn}|\p{Zl}|\p{Zp}|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u180b|\u180c|\u180d|\u180f|\u2800|\u3164|\uffa0|[\ufe00-\ufe0e]|\p{M}{5,}/gu;

/** So many blanks push what follows out of sight. */
const WIDE_BLANKS = /[ \u3000\u00a0\u2000-\u200a]{65,}/g;

function writtenOut(found: string): string {
  if (found === "\t") {
    return found;
  }
  const codes = Array.from(found, (character) => character.codePointAt(0) ?? 0);
  return codes.map((code) => `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`).join("");
}

/** The text on one line; what is not plainly seen is escaped as in `<U+202E>`. Tabs stay. */
export function plainLine(text: string): string {
  return text.replace(UNSEEN, writtenOut).replace(WIDE_BLANKS, (blanks) => ` …(${blanks.length} blanks)… `);
}

/** The lines of a text, each for itself; an end of line at the end begins no line. */
export function plainLines(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > 1 && lines.at(-1) === "") {
    lines.pop();
  }
  return lines.map(plainLine);
}

/** A whole text for an editor: lines keep their ends, blanks stay, what is not plainly seen is escaped. */
export function plainText(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(UNSEEN, (found) => (found === "\n" ? found : writtenOut(found)));
}

/** One line of at most so many characters; what is cut ends in `…`. */
export function short(text: string, most: number): string {
  const line = plainLine(text.replace(/\s*(\r\n|\n|\r)\s*/g, " ⏎ ").replace(/\t/g, " "));
  const characters = Array.from(line);
  return characters.length <= most ? line : `${characters.slice(0, Math.max(0, most - 1)).join("")}…`;
}

/** One line for a quick pick, a tree or a notification, where `$(name)` would be an icon and `[text](link)` a link. */
export function label(text: string, most: number): string {
  return short(text, most).replace(/\$\(/g, "$\u2009(").replace(/\]\(/g, "]\u2009(");
}

/** Markdown that shows exactly these words, on one line. */
export function markdownWords(text: string, most = 400): string {
  return short(text, most)
    .replace(/[\\`*_{}[\]()#+\-.!~|<>&$:@]/g, (mark) => `&#${mark.charCodeAt(0)};`)
    .replace(/ {2,}/g, (blanks) => "&nbsp;".repeat(blanks.length));
}

/** Markdown of a block of code that nothing in the text can end. */
export function markdownBlock(text: string, language = ""): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `\n${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}
