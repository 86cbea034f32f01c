/** The server's event log as `openbuffer log --json` tells it: calls by session, and what each has changed. Pure. */

import { nameOf } from "../dialogs/permission";
import { label, plainLine, plainLines } from "../dialogs/plain";
import type { Hunk } from "../dialogs/proposal";

export interface LoggedCall {
  readonly number: number;
  readonly callId: string;
  readonly tool: string;
  readonly outcome: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly seconds: number | null;
  readonly session: LoggedSession;
  readonly targets: readonly LoggedTarget[];
  readonly error?: string;
}

export interface LoggedSession {
  readonly number: number;
  readonly key: string;
  readonly face: string;
  readonly process: number;
  readonly alive: boolean;
  /** Of a release that tells them. */
  readonly roots?: readonly string[];
}

export interface LoggedTarget {
  readonly path?: string;
  readonly access?: string;
  readonly command?: string;
  readonly url?: string;
  readonly host?: string;
  readonly method?: string;
}

export interface LoggedChange {
  readonly path: string;
  readonly kind: string;
  readonly hunks: readonly { readonly start_line: number; readonly before: string; readonly after: string }[];
  readonly before_bytes: number | null;
  readonly after_bytes: number | null;
}

interface LoggedEvent {
  readonly kind: string;
  readonly change?: LoggedChange;
  readonly before?: { readonly sha256: string };
}

/** One call with all that was recorded of it. */
export interface WholeCall extends LoggedCall {
  readonly events: readonly LoggedEvent[];
}

export interface SessionOfCalls {
  readonly session: LoggedSession;
  /** The newest first. */
  readonly calls: readonly LoggedCall[];
}

/** The lines of `log --json`; a line that cannot be read is left out. */
export function readCalls(stdout: string): LoggedCall[] {
  const calls: LoggedCall[] = [];
  for (const line of stdout.split("\n")) {
    try {
      const call: unknown = line.trim() === "" ? undefined : JSON.parse(line);
      if (isCall(call)) {
        calls.push(call);
      }
    } catch {
      // A line that was cut off, where the program was ended.
    }
  }
  return calls;
}

function isCall(value: unknown): value is LoggedCall {
  const call = value as LoggedCall | undefined;
  return (
    typeof call === "object" &&
    call !== null &&
    typeof call.number === "number" &&
    typeof call.tool === "string" &&
    typeof call.session?.key === "string" &&
    Array.isArray(call.targets)
  );
}

/**
 * The sessions, the newest first.
 *
 * @param roots the folders of this window: with them, sessions of other folders are left out.
 */
export function bySession(calls: readonly LoggedCall[], roots: readonly string[] | undefined): SessionOfCalls[] {
  const sessions = new Map<string, LoggedCall[]>();
  for (const call of calls) {
    const known = sessions.get(call.session.key) ?? [];
    known.push(call);
    sessions.set(call.session.key, known);
  }
  return [...sessions.values()]
    .map((each) => each.sort((one, other) => other.number - one.number))
    .map((each) => ({ session: (each[0] as LoggedCall).session, calls: each }))
    .filter(({ session, calls: own }) => !roots || isOf(session, own, roots))
    .sort((one, other) => other.session.number - one.session.number);
}

function isOf(session: LoggedSession, calls: readonly LoggedCall[], roots: readonly string[]): boolean {
  if (session.roots) {
    return session.roots.some((root) => roots.includes(root));
  }
  const paths = calls.flatMap(({ targets }) => targets.flatMap(({ path }) => path ?? []));
  return paths.length === 0 || paths.some((path) => roots.some((root) => path === root || path.startsWith(`${root}/`)));
}

/** Tools by which files become others; commands do so as well, but it is not known how. */
export function changesFile(call: LoggedCall): boolean {
  return call.targets.some(({ access }) => access === "FILE_WRITE") && call.outcome === "succeeded";
}

/** What a call was about, in a few words. */
export function aboutOf(call: LoggedCall): string {
  const subjects = call.targets.map(({ path, command, url, host }) =>
    path ? nameOf(path) : (command ?? url ?? host ?? ""),
  );
  return label([...new Set(subjects)].filter(Boolean).join(", "), 120);
}

/** The path of the file that a call was about. */
export function pathOf(call: LoggedCall): string | undefined {
  return call.targets.find(({ path }) => path !== undefined)?.path;
}

export interface ChangeFound {
  readonly change: LoggedChange;
  readonly hunks: readonly Hunk[];
  readonly hasBefore: boolean;
}

/** The last change that a call was about to make, and whether the text from before was kept. */
export function changeOf(call: WholeCall): ChangeFound | undefined {
  const event = [...call.events].reverse().find(({ kind, change }) => kind === "intended" && change !== undefined);
  if (!event?.change) {
    return undefined;
  }
  const hunks = event.change.hunks.map(({ start_line, before, after }) => ({ startLine: start_line, before, after }));
  return { change: event.change, hunks, hasBefore: event.before !== undefined };
}

/** A codicon and a theme colour for how a call ended. */
export function iconOf(outcome: string): { readonly icon: string; readonly colour: string | undefined } {
  switch (outcome) {
    case "succeeded":
      return { icon: "pass", colour: "testing.iconPassed" };
    case "failed":
    case "error":
      return { icon: "error", colour: "testing.iconFailed" };
    case "rejected":
      return { icon: "circle-slash", colour: "testing.iconErrored" };
    case "running":
      return { icon: "sync~spin", colour: undefined };
    case "interrupted":
      return { icon: "warning", colour: "problemsWarningIcon.foreground" };
    default:
      return { icon: "circle-outline", colour: "testing.iconSkipped" };
  }
}

/** The title of a session: what it belongs to. */
export function titleOfSession({ session, calls }: SessionOfCalls, isOwn: boolean): string {
  if (isOwn) {
    return "This window";
  }
  const first = calls.at(-1);
  const when = first ? whenOf(first.at) : "";
  return `${session.face === "call" ? "Command line" : "Session"} ${session.number}${when ? `, ${when}` : ""}`;
}

/** A moment in the words of this place. */
export function whenOf(at: string, now: Date = new Date()): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) {
    return "";
  }
  const isToday = date.toDateString() === now.toDateString();
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return isToday ? time : `${date.toLocaleDateString()} ${time}`;
}

/** The text of `log show`, fit for an editor. */
export function shownCall(stdout: string): string {
  return `${plainLines(stdout).join("\n")}\n`;
}

/** More about a call, for a tooltip. */
export function tooltipOf(call: LoggedCall): string {
  const lines = [`${call.tool}: ${call.outcome}`];
  lines.push(...call.targets.map(({ path, command, url }) => path ?? command ?? url ?? "").filter(Boolean));
  if (call.error) {
    lines.push(call.error);
  }
  lines.push(`${whenOf(call.at)}${call.seconds === null ? "" : `, took ${call.seconds.toFixed(2)} s`}`);
  return [...new Set(lines)].map((line) => plainLine(line)).join("\n");
}
