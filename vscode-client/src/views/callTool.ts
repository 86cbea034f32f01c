/** Calling a tool by hand, with its progress and a way to cancel it. */
import * as vscode from "vscode";
import type { CallOutcome, Calls } from "../calls";
import { RequestCancelledError } from "../connection";
import { label, plainText } from "../dialogs/plain";
import { misfit } from "../languageModelTools/arguments";
import { textOfOutcome } from "../languageModelTools/result";
import type { ToolDescription } from "../protocol";
import { type Pages, showPage } from "./pages";
import { type ArgumentRow, argumentRows, firstSentence, missing, readValue, shownValue, typedOf } from "./toolForm";

type Values = Record<string, unknown>;

export class ToolCaller {
  readonly #last = new Map<string, Values>();

  constructor(
    private readonly calls: Calls,
    private readonly pages: Pages,
  ) {}

  /** `openbuffer.callTool`: asks for what it is not given. With a name and arguments it calls at once, and returns the outcome. */
  async run(name?: unknown, args?: unknown): Promise<CallOutcome | undefined> {
    if (typeof name === "string" && typeof args === "object" && args !== null) {
      return this.#call(name, args as Values);
    }
    const tools = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: "openbuffer: tools" },
      () => this.calls.tools(),
    );
    const tool = typeof name === "string" ? tools.find((each) => each.name === name) : await this.#chooseTool(tools);
    const values = tool && (await this.#chooseArguments(tool));
    if (!tool || !values) {
      return undefined;
    }
    this.#last.set(tool.name, values);
    const outcome = await this.#call(tool.name, values);
    if (outcome) {
      await this.#show(outcome);
    }
    return outcome;
  }

  async #chooseTool(tools: readonly ToolDescription[]): Promise<ToolDescription | undefined> {
    const items: (vscode.QuickPickItem & { tool?: ToolDescription })[] = tools.map((tool) => ({
      label: tool.name,
      description: tool.capabilities.join(", "),
      detail: label(firstSentence(tool.description), 200),
      tool,
    }));
    for (const name of this.calls.withheld?.tools ?? []) {
      items.push({ label: `$(lock) ${name}`, detail: label(this.calls.withheld?.reason ?? "", 300) });
    }
    const chosen = await vscode.window.showQuickPick(items, {
      title: "Call a tool",
      placeHolder: "Which one?",
      matchOnDetail: true,
    });
    return chosen?.tool;
  }

  async #chooseArguments(tool: ToolDescription): Promise<Values | undefined> {
    const rows = argumentRows(tool.inputSchema);
    const values: Values = { ...suggested(rows), ...this.#last.get(tool.name) };
    let next = rows.find(({ name }) => missing(rows, values).includes(name));
    for (;;) {
      if (next) {
        const entered = await enter(tool, next, values[next.name]);
        if (entered !== undefined) {
          values[next.name] = entered.value;
        }
        next = entered && rows.find(({ name }) => missing(rows, values).includes(name));
        if (next) {
          continue;
        }
      }
      const chosen = await chooseRow(tool, rows, values);
      if (chosen === undefined || chosen === "call") {
        return chosen && values;
      }
      next = chosen;
    }
  }

  async #call(name: string, args: Values): Promise<CallOutcome | undefined> {
    try {
      return await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: `openbuffer: ${label(name, 40)}`, cancellable: true },
        (progress, token) => {
          let last = 0;
          return this.calls.call(name, args, {
            token,
            progress: ({ message, percentage }) => {
              const increment = percentage === undefined ? undefined : Math.max(0, percentage - last);
              last = percentage ?? last;
              progress.report({ message: message && label(message, 200), increment });
            },
          });
        },
      );
    } catch (error) {
      if (!(error instanceof RequestCancelledError)) {
        const why = error instanceof Error ? error.message : String(error);
        void vscode.window.showErrorMessage(`openbuffer: ${label(why, 500)}`);
      }
      return undefined;
    }
  }

  async #show(outcome: CallOutcome): Promise<void> {
    const uri = this.pages.set(`${outcome.name} result`, plainText(textOfOutcome(outcome)));
    await showPage(uri, { preview: true, viewColumn: vscode.ViewColumn.Beside });
    if (outcome.isError) {
      void vscode.window.showWarningMessage(`openbuffer: ${label(textOfOutcome(outcome), 300)}`);
    }
  }
}

/** What the active editor says: its file, and what is chosen in it. */
function suggested(rows: readonly ArgumentRow[]): Values {
  const editor = vscode.window.activeTextEditor;
  const values: Values = {};
  if (editor?.document.uri.scheme === "file") {
    const chosen = editor.document.getText(editor.selection);
    for (const { name } of rows) {
      if (name === "filePath") {
        values[name] = editor.document.uri.fsPath;
      } else if (name === "oldString" && chosen !== "") {
        values[name] = chosen;
      }
    }
  }
  return values;
}

async function chooseRow(
  tool: ToolDescription,
  rows: readonly ArgumentRow[],
  values: Values,
): Promise<ArgumentRow | "call" | undefined> {
  const wrong = misfit(tool.name, tool.inputSchema, values);
  const items: (vscode.QuickPickItem & { row?: ArgumentRow })[] = [
    { label: `$(play) Call ${tool.name}`, description: wrong && label(wrong, 200) },
    { label: "arguments", kind: vscode.QuickPickItemKind.Separator },
    ...rows.map((row) => ({
      label: row.name + (row.isRequired ? "" : "?"),
      description: shownValue(values[row.name]) || (row.byDefault ? `${row.byDefault} by default` : ""),
      detail: label(row.description, 200),
      row,
    })),
  ];
  const chosen = await vscode.window.showQuickPick(items, {
    title: `${tool.name}`,
    placeHolder: "Call it, or set an argument",
  });
  if (!chosen) {
    return undefined;
  }
  return chosen.row ?? (wrong === undefined ? "call" : chooseRow(tool, rows, values));
}

async function enter(tool: ToolDescription, row: ArgumentRow, value: unknown): Promise<{ value: unknown } | undefined> {
  const title = `${tool.name}: ${row.name}`;
  if (row.kind === "boolean" || row.kind === "choice") {
    const choices = row.kind === "boolean" ? ["true", "false"] : [...row.choices];
    const chosen = await vscode.window.showQuickPick(choices, { title, placeHolder: label(row.description, 200) });
    return chosen === undefined ? undefined : (readValue(row, chosen) as { value: unknown });
  }
  const typed = await vscode.window.showInputBox({
    title,
    prompt: row.description,
    value: typedOf(row, value),
    validateInput: (text) => {
      const made = readValue(row, text);
      return "trouble" in made ? made.trouble : undefined;
    },
  });
  const made = typed === undefined ? undefined : readValue(row, typed);
  return made && "value" in made ? made : undefined;
}
