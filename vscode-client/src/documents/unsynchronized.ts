/** Which documents have unsaved changes that no message tells: their tabs show that there are some, and nothing more. Pure. */
import type { UnsynchronizedDocument } from "../protocol";

export type TabKind = "text" | "notebook" | "custom";

/** A tab, as far as it matters here. */
export interface ShownFile {
  readonly kind: TabKind;
  readonly scheme: string;
  readonly isDirty: boolean;
  /** Its address as the server knows files. */
  readonly fileUri: string;
  /** Whether an untitled document is named after the file that it will be. */
  readonly hasFile: boolean;
}

const REASONS: { readonly [kind in TabKind]: string } = {
  text: "it is so large (more than about 50 MB) that VS Code tells no extension its text",
  notebook: "it is shown as a notebook, whose text VS Code does not tell",
  custom: "it is shown in an editor of its own kind, whose text VS Code does not tell",
};
const NOT_SAVED_YET = "it is a new document that was never saved";

/** `isSynced`: whether the server is told of the text document of this address. */
export function unsynchronized(
  shown: readonly ShownFile[],
  isSynced: (fileUri: string) => boolean,
): UnsynchronizedDocument[] {
  const reasons = new Map<string, string>();
  for (const { kind, scheme, isDirty, fileUri, hasFile } of shown) {
    if (!isDirty) {
      continue;
    }
    if (scheme === "untitled") {
      if (hasFile) {
        reasons.set(fileUri, NOT_SAVED_YET);
      }
    } else if (scheme === "file" && !(kind === "text" && isSynced(fileUri))) {
      reasons.set(fileUri, REASONS[kind]);
    }
  }
  return [...reasons].map(([uri, reason]) => ({ uri, reason }));
}
