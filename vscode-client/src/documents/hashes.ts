/** The hashes by which the server and this client know that they speak of the same bytes. */
import { createHash } from "node:crypto";

/** SHA-256 of a text in UTF-8, in lower-case hex; half a surrogate pair counts as U+FFFD. */
export function textHash(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** SHA-256 of a file's bytes; null where there is no file. */
export function diskHash(bytes: Uint8Array | undefined): string | null {
  return bytes === undefined ? null : createHash("sha256").update(bytes).digest("hex");
}
