/** The server's settings as they hold here, by `openbuffer config`; with those of the editor, which that does not see. */
import * as vscode from "vscode";
import type { Connection } from "../connection";
import { type Permissions, permissionsOf, withEditorSettings } from "../languageModelTools/whoAsks";
import type { ServerProgram } from "./program";
import { sandboxInWords } from "./statusText";

/** A file of the user's may change at any time, and an answer takes about half a second. */
const FRESH_MS = 3_000;
/** So long a chat waits for it before it asks. */
const WAITS_MS = 2_500;
const ANSWER_MS = 30_000;

export class Configuration implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #parts: vscode.Disposable;
  #config: unknown;
  #readMs = 0;
  #reading: Promise<unknown> | undefined;

  constructor(
    connection: Connection,
    private readonly program: ServerProgram,
    private readonly editorSettings: () => Record<string, unknown>,
  ) {
    this.#parts = vscode.Disposable.from(
      this.#changed,
      connection.onDidChangeState((state) => state === "running" && void this.#read()),
      vscode.workspace.onDidChangeConfiguration(
        (event) => event.affectsConfiguration("openbuffer") && void this.#read(),
      ),
    );
  }

  /** Whether commands are confined, in words, as it was known last. */
  get sandbox(): string | undefined {
    return sandboxInWords(this.#config, this.#editor().sandbox);
  }

  /** The rules as they count now; undefined where that cannot be found out in time. */
  async permissions(): Promise<Permissions | undefined> {
    const isFresh = Date.now() - this.#readMs < FRESH_MS;
    const base = permissionsOf(isFresh ? this.#config : await Promise.race([this.#read(), late(WAITS_MS)]));
    return base && withEditorSettings(base, this.#editor().permissions);
  }

  dispose(): void {
    this.#parts.dispose();
  }

  /** Where the workspace is not trusted, settings of the editor can only make the others stricter. */
  #editor(): Record<string, unknown> {
    const settings = this.editorSettings();
    if (vscode.workspace.isTrusted) {
      return settings;
    }
    const { deny, ask } = (settings.permissions ?? {}) as Record<string, unknown>;
    return { permissions: { deny, ask } };
  }

  #read(): Promise<unknown> {
    this.#reading ??= this.#ask().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #ask(): Promise<unknown> {
    const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    try {
      const where = root === undefined ? [] : ["--root", root];
      const answer = await this.program.run(["config", "--json", ...where], ANSWER_MS, true);
      this.#config = answer.code === 0 ? JSON.parse(answer.stdout) : undefined;
    } catch {
      this.#config = undefined;
    }
    this.#readMs = Date.now();
    this.#changed.fire();
    return this.#config;
  }
}

/** Nothing, after a while. */
function late(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref?.();
  });
}
