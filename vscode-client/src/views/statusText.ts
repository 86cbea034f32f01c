/** What the status bar says, and its tooltip. Pure. */
import type { Problem, ServerFacts, ServerState } from "../connection";
import { label, markdownWords } from "../dialogs/plain";

export interface StatusFacts {
  readonly state: ServerState;
  readonly problem: Problem | undefined;
  readonly server: ServerFacts | undefined;
  /** Titles of dialogs that wait. */
  readonly waiting: readonly string[];
  /** Names of tools that run. */
  readonly running: readonly string[];
  /** Documents with unsaved text that the tools see. */
  readonly unsaved: number;
  /** Whether commands are confined, in words; undefined: not known. */
  readonly sandbox: string | undefined;
  readonly isTrusted: boolean;
}

export interface StatusText {
  readonly text: string;
  readonly background: "warning" | "error" | undefined;
  /** Markdown. */
  readonly tooltip: string;
  /** For screen readers. */
  readonly words: string;
}

export function statusText(facts: StatusFacts): StatusText {
  const [icon, word, background] = lookOf(facts);
  const unsaved = facts.state === "running" && facts.unsaved > 0 ? ` $(circle-filled) ${facts.unsaved}` : "";
  const words = word === "" ? "openbuffer" : `openbuffer: ${word}`;
  return {
    text: `$(${icon}) ${words}${facts.waiting.length > 0 ? "" : unsaved}`,
    background,
    tooltip: tooltip(facts),
    words: `openbuffer, ${stateInWords(facts)}, ${unsavedInWords(facts.unsaved)}`,
  };
}

function lookOf(facts: StatusFacts): [icon: string, word: string, background: StatusText["background"]] {
  if (facts.state === "failed") {
    return ["error", "no server", "error"];
  }
  if (facts.waiting.length > 0) {
    const [first = ""] = facts.waiting;
    const more = facts.waiting.length > 1 ? ` (1 of ${facts.waiting.length})` : "";
    return ["question", `${label(first, 50)}${more}`, "warning"];
  }
  if (facts.state === "starting") {
    return ["loading~spin", "starting", facts.problem ? "warning" : undefined];
  }
  if (facts.state === "stopped") {
    return ["debug-disconnect", "stopped", undefined];
  }
  if (facts.running.length > 0) {
    return [
      "sync~spin",
      facts.running.length === 1 ? (facts.running[0] ?? "") : `${facts.running.length} calls`,
      undefined,
    ];
  }
  return [facts.isTrusted ? "pass" : "workspace-untrusted", "", undefined];
}

function stateInWords({ state, problem, server, isTrusted }: StatusFacts): string {
  if (state === "running") {
    return `server ${server?.version ?? ""} runs${isTrusted ? "" : ", the workspace is not trusted: tools that have effects are withheld"}`;
  }
  return problem ? problem.message : `the server is ${state === "starting" ? "starting" : "stopped"}`;
}

export function unsavedInWords(unsaved: number): string {
  return unsaved === 1
    ? "1 document with unsaved text"
    : `${unsaved === 0 ? "no" : unsaved} documents with unsaved text`;
}

function tooltip(facts: StatusFacts): string {
  const rows = [`**openbuffer**: ${markdownWords(stateInWords(facts))}`];
  if (facts.server) {
    rows.push(`from ${markdownWords(facts.server.from)}`);
  }
  if (facts.state === "running") {
    rows.push(`Tools see ${unsavedInWords(facts.unsaved)}.`);
    rows.push(`Sandbox of commands: ${markdownWords(facts.sandbox ?? "not known yet")}`);
  }
  if (facts.running.length > 0) {
    rows.push(`Under way: ${markdownWords(facts.running.join(", "))}`);
  }
  if (facts.waiting.length > 0) {
    rows.push(`Waiting for you: ${facts.waiting.map((title) => markdownWords(title)).join("; ")}`);
  }
  return rows.join("\n\n");
}

/** The sandbox in the words of `openbuffer config --json`; undefined where it does not say. */
export function sandboxInWords(config: unknown, editor: unknown): string | undefined {
  const settings = (config as { settings?: Record<string, { value?: unknown } | undefined> } | undefined)?.settings;
  const own = (editor ?? {}) as Record<string, unknown>;
  const value = (key: string) => own[key] ?? settings?.[`sandbox.${key}`]?.value;
  if (typeof value("enabled") !== "boolean") {
    return undefined;
  }
  if (!value("enabled")) {
    return "off: commands have all of your rights";
  }
  return `on, ${value("network") ? "with" : "without"} a network`;
}
