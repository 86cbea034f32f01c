/** From bytes to text, without asking the editor, which answers only later. */

/** The names that `TextDocument.encoding` has, where they are not those of the standard. */
const LABELS: { readonly [encoding: string]: string } = {
  utf8: "utf-8",
  utf8bom: "utf-8",
  utf16le: "utf-16le",
  utf16be: "utf-16be",
  iso88591: "iso-8859-1",
  iso88592: "iso-8859-2",
  iso88597: "iso-8859-7",
  iso885915: "iso-8859-15",
  windows1250: "windows-1250",
  windows1251: "windows-1251",
  windows1252: "windows-1252",
  macroman: "macintosh",
  shiftjis: "shift_jis",
  eucjp: "euc-jp",
  euckr: "euc-kr",
  gbk: "gbk",
  gb18030: "gb18030",
  big5hkscs: "big5",
  koi8r: "koi8-r",
  koi8u: "koi8-u",
};

/** The text of a file, without its byte-order mark; undefined: it is no text in this encoding, or the encoding is not known here. */
export function decode(bytes: Uint8Array, encoding: string): string | undefined {
  const label = LABELS[encoding];
  if (label === undefined) {
    return undefined;
  }
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function isUtf8(encoding: string): boolean {
  return encoding === "utf8" || encoding === "utf8bom";
}

export function holdsEverything(encoding: string): boolean {
  return encoding.startsWith("utf") || encoding === "gb18030";
}
