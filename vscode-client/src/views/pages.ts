/** Texts that are shown and belong to no file: the sides of a change, a permission, a call of the log. */
import * as vscode from "vscode";

/** Each kind has a scheme of its own, by which menus and code lenses tell them apart; none is told to the server. */
export const APPROVAL = "openbuffer-approval";
export const QUESTION = "openbuffer-question";
export const LOG = "openbuffer-log";

/** Of more texts the oldest are let go of, which is what closing a tab does not do. */
const KEPT = 60;

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #registration: vscode.Disposable;
  #count = 0;

  constructor(readonly scheme: string) {
    this.#registration = vscode.workspace.registerTextDocumentContentProvider(scheme, this);
  }

  /** Have a text under a new address; `name` is what its tab shows and what tells the language. */
  add(name: string, text: string): vscode.Uri {
    this.#count += 1;
    const uri = vscode.Uri.from({ scheme: this.scheme, path: `/${this.#count}/${name.replace(/[\\/?#]/g, "_")}` });
    this.#keep(uri, text);
    return uri;
  }

  /** Have a text under this name; the one before under the same name is replaced, also where it is shown. */
  set(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: this.scheme, path: `/${name.replace(/[\\?#]/g, "_")}` });
    const isNew = !this.#texts.has(uri.toString());
    this.#keep(uri, text);
    if (!isNew) {
      this.#changed.fire(uri);
    }
    return uri;
  }

  #keep(uri: vscode.Uri, text: string): void {
    this.#texts.delete(uri.toString());
    this.#texts.set(uri.toString(), text);
    for (const old of [...this.#texts.keys()].slice(0, -KEPT)) {
      this.#texts.delete(old);
    }
  }

  forget(uri: vscode.Uri): void {
    this.#texts.delete(uri.toString());
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "This is not shown any more.\n";
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}

/** The language of pages: it wraps long lines and marks what was written out, see package.json. */
const LANGUAGE = "openbuffer-page";

/** Show one of these texts as a page, whole. */
export async function showPage(uri: vscode.Uri, options: vscode.TextDocumentShowOptions): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
  await vscode.window.showTextDocument(document, options);
}

/** The tabs that show one of these texts, in whatever group. */
export function tabsOf(uris: readonly vscode.Uri[]): vscode.Tab[] {
  const wanted = new Set(uris.map(String));
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => {
      if (input instanceof vscode.TabInputTextDiff) {
        return wanted.has(input.modified.toString()) || wanted.has(input.original.toString());
      }
      return input instanceof vscode.TabInputText && wanted.has(input.uri.toString());
    });
}

/** Close the tabs of a scheme, but for those of texts that are to stay. */
export async function closeTabs(scheme: string, stays: (uri: vscode.Uri) => boolean): Promise<void> {
  const left = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => {
      const uri = input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
      const shown = uri ?? (input instanceof vscode.TabInputText ? input.uri : undefined);
      return shown?.scheme === scheme && !stays(shown);
    });
  if (left.length > 0) {
    await vscode.window.tabGroups.close(left, true);
  }
}

export async function closeTabsOf(uris: readonly vscode.Uri[]): Promise<void> {
  const tabs = tabsOf(uris);
  if (tabs.length > 0) {
    await vscode.window.tabGroups.close(tabs, true);
  }
}
