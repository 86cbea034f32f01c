/** A request for a permission in words: what is wanted, all that belongs to it, and what can be answered. */
import type { PermissionChange, PermissionTarget, RequestPermissionParams, RequestPermissionResult } from "../protocol";
import { label, plainLine, plainLines, short } from "./plain";

export type Outcome = RequestPermissionResult["outcome"];

/** One thing that the user can answer; `allows` are the rules that count from then on, word for word. */
export interface Choice {
  readonly outcome: Outcome;
  readonly title: string;
  readonly detail: string;
}

/** The choices for a request. Session and always are there only where there are rules for them. */
export function choicesOf(params: RequestPermissionParams): Choice[] {
  const rules = params.rules ?? [];
  const told = rules.map((rule) => plainLine(rule)).join(", ");
  const lasting: Choice[] = [
    { outcome: "session", title: "Allow for this session", detail: `From now on: ${told}` },
    { outcome: "always", title: "Always allow", detail: `From now on, for good: ${told}` },
  ];
  return [
    { outcome: "once", title: "Allow once", detail: "This call alone." },
    ...(rules.length > 0 ? lasting : []),
    { outcome: "no", title: "Deny", detail: "The agent is told that you said no." },
  ];
}

const ROW_CHARS = 64;

/** The rules of an answer, where a row of a quick pick does not hold them; one a line. */
export function rulesToRead(params: RequestPermissionParams, outcome: Outcome): string | undefined {
  const rules = outcome === "session" || outcome === "always" ? (params.rules ?? []).map(plainLine) : [];
  return rules.join(", ").length > ROW_CHARS ? rules.join("\n") : undefined;
}

const NAMED_BY_DEED = new Set(["Edit", "Write", "Delete"]);

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
}

/** A few words: the title of a dialog. */
export function headline(params: RequestPermissionParams): string {
  const tool = label(params.tool, 40);
  if (params.change) {
    const { path, addedLines, removedLines, isCounted } = params.change;
    const counts =
      addedLines + removedLines > 0 ? ` (+${addedLines} −${removedLines}${isCounted ? "" : ", and more"})` : "";
    const name = label(nameOf(path), 60);
    // The names of our tools say what they do.
    return `${NAMED_BY_DEED.has(params.tool) ? tool : `${tool}: ${verbOf(params.change)}`} ${name}${counts}`;
  }
  const target = params.targets?.[0];
  if (!target) {
    return `${tool} wants to act`;
  }
  const more = params.targets.length > 1 ? ` and ${params.targets.length - 1} more` : "";
  return `${tool}: ${label(subjectOf(target), 70)}${more}`;
}

function subjectOf(target: PermissionTarget): string {
  switch (target.kind) {
    case "command":
      return `run ${short(target.command ?? "?", 60)}`;
    case "url":
      return `${target.method ?? "fetch"} ${target.url ?? target.host ?? "?"}`;
    default:
      return `${target.access === "FILE_READ" ? "read" : "change"} ${nameOf(target.path ?? "?")}`;
  }
}

function verbOf(change: PermissionChange): string {
  if (change.beforeBytes === null) {
    return "make";
  }
  return change.afterBytes === null ? "delete" : "change";
}

/** A few words for a place in which the buttons have to be seen as well. */
export function brief(params: RequestPermissionParams): string {
  const path = params.change?.path ?? (params.targets?.length === 1 ? params.targets[0]?.path : undefined);
  const about = path === undefined ? `: ${deedOf(params.targets ?? [])}` : ` ${label(nameOf(path), 20)}`;
  return label(params.tool, 24) + about;
}

/** Whether the differences alone show all that is wanted: one file's text, all of it, and nothing besides. */
export function isChangeAlone(params: RequestPermissionParams): boolean {
  const change = params.change;
  if (change?.kind !== "file" || change.hunks.length === 0) {
    return false;
  }
  return (params.targets ?? []).every((target) => target.kind === "file" && target.path === change.path);
}

/** All of a request, line by line, as a page to be read. */
export function pageOf(params: RequestPermissionParams): string[] {
  const page: string[] = [];
  const { change } = params;
  const targets = params.targets ?? [];
  if (change) {
    page.push(`${plainLine(params.tool)} wants to ${changeInWords(change)}`);
  } else if (targets.length === 0) {
    page.push(`${plainLine(params.tool)} wants to act`);
  } else {
    page.push(`${plainLine(params.tool)} wants to ${deedOf(targets)}`);
  }
  page.push("");
  for (const target of targets) {
    if (!(change && target.kind === "file" && target.path === change.path)) {
      addTarget(page, target);
    }
  }
  addFact(page, "Arguments", params.arguments);
  addFact(page, "Containment", params.containment ?? unconfined(targets));
  addFact(page, "Why you are asked", params.reason);
  if ((params.rules ?? []).length > 0) {
    page.push(
      "",
      "Allowed from then on by “for this session” and “always”:",
      ...params.rules.map((rule) => `  ${plainLine(rule)}`),
    );
  }
  if (change && change.hunks.length > 0) {
    addHunks(page, change);
  }
  return page;
}

function unconfined(targets: readonly PermissionTarget[]): string | undefined {
  const isCommand = targets.some(({ kind, confinedBy }) => kind === "command" && !confinedBy);
  return isCommand ? "none: it has all of your rights" : undefined;
}

/** What is wanted of whatever is no change of a file, in a few words. */
function deedOf(targets: readonly PermissionTarget[]): string {
  const isThere = (kind: string) => targets.some((target) => target.kind === kind);
  return isThere("command") ? "run a command" : isThere("url") ? "send a request" : "act";
}

/** What becomes of a file, in words. */
export function changeInWords(change: PermissionChange): string {
  const kind = change.kind === "file" ? "" : `the ${plainLine(change.kind)} `;
  const where = change.inSandbox ? " in the sandbox" : "";
  const more = change.isCounted ? "" : ", and more";
  const sizes =
    change.hunks.length > 0 ? ` (+${change.addedLines} −${change.removedLines} lines${more})` : sizesInWords(change);
  return `${verbOf(change)} ${kind}${plainLine(change.path)}${where}${sizes}`;
}

function sizesInWords({ beforeBytes, afterBytes }: PermissionChange): string {
  if (beforeBytes !== null && afterBytes !== null) {
    return ` (${beforeBytes} bytes, ${afterBytes} afterwards)`;
  }
  const size = beforeBytes ?? afterBytes;
  return size === null ? "" : ` (${size} bytes)`;
}

function addTarget(page: string[], target: PermissionTarget): void {
  const where = target.inSandbox ? " (in the sandbox)" : "";
  switch (target.kind) {
    case "command":
      page.push("Command:", ...plainLines(target.command ?? "").map((line) => `  $ ${line}`));
      addFact(page, "Starts in", target.cwd && target.cwd + where);
      addFact(page, "Program", target.argv?.[0]);
      break;
    case "url":
      addFact(page, target.method ?? "URL", target.url);
      addFact(page, "Host", target.host && `${target.host}${target.port ? `, port ${target.port}` : ""}`);
      break;
    default:
      addFact(page, target.access === "FILE_READ" ? "Reads" : "Changes", (target.path ?? "?") + where);
  }
}

function addFact(page: string[], name: string, text: string | undefined | null): void {
  if (text) {
    const [first = "", ...rest] = plainLines(text);
    page.push(`${name}: ${first}`, ...rest.map((line) => `  ${line}`));
  }
}

function addHunks(page: string[], change: PermissionChange): void {
  page.push("");
  for (const hunk of change.hunks) {
    page.push(`@@ line ${hunk.startLine} @@`);
    page.push(...(hunk.before === "" ? [] : plainLines(hunk.before).map((line) => `-${line}`)));
    page.push(...(hunk.after === "" ? [] : plainLines(hunk.after).map((line) => `+${line}`)));
  }
  if (!change.isWhole) {
    page.push(
      `(not all of it: ${change.hunks.length} of ${change.hunkCount} places are here, and the last may be cut)`,
    );
  }
}
