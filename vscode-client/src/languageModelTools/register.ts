/** The server's tools for every model in the editor: its own agent, and all extensions that use `vscode.lm`. */
import * as vscode from "vscode";
import type { Calls } from "../calls";
import { RequestCancelledError } from "../connection";
import { currentText } from "../dialogs/currentText";
import { nameOf } from "../dialogs/permission";
import { plainText } from "../dialogs/plain";
import { LOG, Pages } from "../views/pages";
import { misfit } from "./arguments";
import { confirmationOf, invocationMessage } from "./confirmation";
import { type ContributedTool, contributedTools, serverName } from "./names";
import { textOfOutcome, withinBudget } from "./result";
import { type Confirmations, chatAsks, type Permissions } from "./whoAsks";

type Arguments = Readonly<Record<string, unknown>>;

/** What of a contributed tool is known without the server. */
const CAPABILITY_TAG = "openbuffer:";

/**
 * Register the contributed tools.
 *
 * @param permissions the rules as they count now; undefined where that cannot be found out.
 */
export function registerLanguageModelTools(
  context: vscode.ExtensionContext,
  calls: Calls,
  permissions: () => Promise<Permissions | undefined>,
): vscode.Disposable {
  const tools = contributedTools(context.extension.packageJSON);
  const proposals = new Proposals();
  const registered = tools.map((tool) =>
    vscode.lm.registerTool(tool.name, new ServerTool(tool, calls, permissions, proposals)),
  );
  const offered = new Offered(tools, calls);
  return vscode.Disposable.from(...registered, proposals, offered);
}

class ServerTool implements vscode.LanguageModelTool<Arguments> {
  readonly #name: string;

  constructor(
    private readonly tool: ContributedTool,
    private readonly calls: Calls,
    private readonly permissions: () => Promise<Permissions | undefined>,
    private readonly proposals: Proposals,
  ) {
    this.#name = serverName(tool.name);
  }

  async prepareInvocation(
    { input }: vscode.LanguageModelToolInvocationPrepareOptions<Arguments>,
    token: vscode.CancellationToken,
  ): Promise<vscode.PreparedToolInvocation> {
    // Nobody is asked about what cannot be called; `invoke` tells the model why.
    if (misfit(this.#name, this.tool.inputSchema, input) !== undefined) {
      return { invocationMessage: this.#name };
    }
    const message = { invocationMessage: invocationMessage(this.#name, input) };
    const capabilities = this.tool.tags
      .filter((tag) => tag.startsWith(CAPABILITY_TAG))
      .map((tag) => tag.slice(CAPABILITY_TAG.length));
    const wanted = vscode.workspace.getConfiguration("openbuffer").get<Confirmations>("chat.confirmations", "auto");
    if (!chatAsks(this.#name, capabilities, undefined, wanted)) {
      return message;
    }
    const known = wanted === "auto" ? await this.permissions() : undefined;
    if (token.isCancellationRequested || !chatAsks(this.#name, capabilities, known, wanted)) {
      return message;
    }
    const confirmation = confirmationOf(this.#name, input, await this.#current(input));
    const markdown = new vscode.MarkdownString(confirmation.markdown);
    if (confirmation.change) {
      this.proposals.keep(confirmation.change);
    }
    return { ...message, confirmationMessages: { title: confirmation.title, message: markdown } };
  }

  async invoke(
    { input, tokenizationOptions }: vscode.LanguageModelToolInvocationOptions<Arguments>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    // The confirmation was left out where they do not fit: then they are not for the server to judge either.
    const wrong = misfit(this.#name, this.tool.inputSchema, input);
    if (wrong !== undefined) {
      return said(`The call failed (ToolArgumentError): ${wrong}`);
    }
    try {
      const outcome = await this.calls.call(this.#name, input, { token });
      return said(await withinBudget(textOfOutcome(outcome), tokenizationOptions));
    } catch (error) {
      if (error instanceof RequestCancelledError || token.isCancellationRequested) {
        throw new vscode.CancellationError();
      }
      const why = error instanceof Error ? error.message : String(error);
      return said(`The call failed: ${why}. The user can look at it with the command "openbuffer: Menu".`);
    }
  }

  async #current(input: Arguments): Promise<string | undefined> {
    const path = input.filePath;
    const root = vscode.workspace.workspaceFolders?.[0]?.uri;
    if (typeof path !== "string") {
      return undefined;
    }
    const isAbsolute = /^([\\/]|[A-Za-z]:[\\/])/.test(path);
    return currentText(isAbsolute || !root ? path : vscode.Uri.joinPath(root, path).fsPath);
  }
}

function said(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}

interface Proposal {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** The change that a chat has shown last, for the diff editor: a chat does not let its messages have links to commands. */
class Proposals implements vscode.Disposable {
  readonly #pages = new Pages(`${LOG}-proposal`);
  readonly #command: vscode.Disposable;
  #last: Proposal | undefined;

  constructor() {
    this.#command = vscode.commands.registerCommand("openbuffer.showProposal", () => this.#show());
  }

  keep(proposal: Proposal): void {
    this.#last = proposal;
  }

  dispose(): void {
    vscode.Disposable.from(this.#command, this.#pages).dispose();
  }

  async #show(): Promise<void> {
    if (!this.#last) {
      void vscode.window.showInformationMessage("openbuffer: no chat has proposed a change yet.");
      return;
    }
    const { path, before, after } = this.#last;
    const name = nameOf(path);
    const left = this.#pages.set(`before/${name}`, plainText(before));
    const right = this.#pages.set(`after/${name}`, plainText(after));
    await vscode.commands.executeCommand("vscode.diff", left, right, `${name}: proposed`, { preview: true });
  }
}

/** Keeps tools that the server does not have, or withholds, from being offered to models. */
class Offered implements vscode.Disposable {
  readonly #listener: vscode.Disposable;

  constructor(
    private readonly tools: readonly ContributedTool[],
    private readonly calls: Calls,
  ) {
    this.#listener = calls.onDidChangeTools(() => void this.#tell());
  }

  dispose(): void {
    this.#listener.dispose();
  }

  async #tell(): Promise<void> {
    let listed: Set<string>;
    try {
      listed = new Set((await this.calls.tools()).map(({ name }) => name));
    } catch {
      // Without a list they stay as they are: a call says what is wrong.
      return;
    }
    for (const tool of this.tools) {
      const name = serverName(tool.name);
      void vscode.commands.executeCommand("setContext", `openbuffer.withTool.${name}`, listed.has(name));
      void vscode.commands.executeCommand("setContext", `openbuffer.withoutTool.${name}`, !listed.has(name));
    }
  }
}
