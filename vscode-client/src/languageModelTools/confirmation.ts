/** What a chat shows before a tool with effects is called: its title, and the change in Markdown. */

import { nameOf } from "../dialogs/permission";
import { markdownBlock, markdownWords, plainLine, plainLines, short } from "../dialogs/plain";
import { type Hunk, withHunks } from "../dialogs/proposal";
import { editPlaces, writePlaces } from "./editPlaces";

export interface Confirmation {
  readonly title: string;
  readonly markdown: string;
  /** The change of one file, for a diff editor. */
  readonly change?: { readonly path: string; readonly before: string; readonly after: string };
}

type Arguments = Readonly<Record<string, unknown>>;

const DIFF_MAX_LINES = 60;
const LINE_MAX_CHARS = 300;
const COMMAND_MAX_LINES = 60;
const JSON_MAX_CHARS = 4_000;

/** While the call runs. */
export function invocationMessage(tool: string, args: Arguments): string {
  const path = textOf(args, "filePath") ?? textOf(args, "path");
  const about = path
    ? nameOf(path)
    : (textOf(args, "command") ??
      textOf(args, "pattern") ??
      textOf(args, "url") ??
      textOf(args, "query") ??
      textOf(args, "title"));
  return about ? `${tool}: ${short(about, 80)}` : tool;
}

/**
 * What is asked about.
 *
 * @param current the text of the file that the call is about, as it is now; undefined where there is none.
 */
export function confirmationOf(tool: string, args: Arguments, current: string | undefined): Confirmation {
  switch (tool) {
    case "Edit":
      return ofEdit(args, current);
    case "Write":
      return ofWrite(args, current);
    case "Delete":
      return {
        title: `Delete ${named(args, "path")}?`,
        markdown: `Deletes ${markdownWords(textOf(args, "path") ?? "?")}.`,
      };
    case "Shell":
    case "Bash":
      return ofCommand(args);
    case "WebFetch":
      return ofFetch(args);
    case "WebSearch":
      return {
        title: "Search the web?",
        markdown: `Sends this to the search provider: ${markdownWords(textOf(args, "query") ?? "")}`,
      };
    default:
      return { title: `Call ${tool}?`, markdown: markdownBlock(json(args), "json") };
  }
}

function ofEdit(args: Arguments, current: string | undefined): Confirmation {
  const path = textOf(args, "filePath") ?? "?";
  const [oldString, newString] = [textOf(args, "oldString") ?? "", textOf(args, "newString") ?? ""];
  const { hunks, trouble } =
    current === undefined
      ? { hunks: [{ startLine: 1, before: oldString, after: newString }], trouble: "this file cannot be shown" }
      : editPlaces(current, oldString, newString, args.replaceAll === true);
  const after = trouble === undefined && current !== undefined ? withHunks(current, hunks) : undefined;
  return {
    title: `Edit ${named(args, "filePath")}?`,
    markdown: changeInMarkdown(path, hunks, trouble),
    ...(after === undefined ? {} : { change: { path, before: current ?? "", after } }),
  };
}

function ofWrite(args: Arguments, current: string | undefined): Confirmation {
  const path = textOf(args, "filePath") ?? "?";
  const content = textOf(args, "content") ?? "";
  if (current === undefined) {
    const hunks = content === "" ? [] : [{ startLine: 1, before: "", after: content }];
    const title = `Write ${named(args, "filePath")}?`;
    return { title, markdown: changeInMarkdown(path, hunks, undefined), change: { path, before: "", after: content } };
  }
  const hunks = writePlaces(current, content) ?? [{ startLine: 1, before: current, after: content }];
  return {
    title: `Write ${named(args, "filePath")}?`,
    markdown: changeInMarkdown(path, hunks, hunks.length === 0 ? "it has this text already" : undefined),
    change: { path, before: current, after: content },
  };
}

function changeInMarkdown(path: string, hunks: readonly Hunk[], trouble: string | undefined): string {
  const lines: string[] = [];
  for (const hunk of hunks) {
    lines.push(`@@ line ${hunk.startLine} @@`);
    lines.push(...signed(hunk.before, "-"), ...signed(hunk.after, "+"));
  }
  const left = lines.length - DIFF_MAX_LINES;
  const shown = left > 0 ? lines.slice(0, DIFF_MAX_LINES) : lines;
  const more =
    left > 0
      ? `\n${left} more lines are not shown here: the command **openbuffer: Show Proposed Change** shows all.\n`
      : "";
  const note = trouble ? `\nNote: ${markdownWords(trouble)}.\n` : "";
  const block = shown.length > 0 ? markdownBlock(shown.join("\n"), "diff") : "\nNothing is in it.\n";
  return `${markdownWords(path)}\n${note}${block}${more}`;
}

function signed(text: string, sign: string): string[] {
  return text === "" ? [] : plainLines(text).map((line) => `${sign}${cut(line)}`);
}

function cut(line: string): string {
  return line.length <= LINE_MAX_CHARS ? line : `${line.slice(0, LINE_MAX_CHARS)}… (${line.length} characters)`;
}

function ofCommand(args: Arguments): Confirmation {
  const lines = plainLines(textOf(args, "command") ?? "");
  const left = lines.length - COMMAND_MAX_LINES;
  // The end of a command is shown in any case: what matters may stand there.
  const shown =
    left > 0
      ? [...lines.slice(0, COMMAND_MAX_LINES - 20), `… (${left} lines are not shown)`, ...lines.slice(-20)]
      : lines;
  const where = textOf(args, "workingDirectory");
  return {
    title: "Run a command?",
    markdown: `${where ? `In ${markdownWords(where)}\n` : ""}${markdownBlock(shown.join("\n"), "sh")}`,
  };
}

function ofFetch(args: Arguments): Confirmation {
  const url = textOf(args, "url") ?? "?";
  const headers = typeof args.headers === "object" && args.headers ? Object.keys(args.headers) : [];
  const sent = headers.length > 0 ? `\nWith the headers ${markdownWords(headers.join(", "))}.\n` : "";
  return { title: `Fetch from ${short(hostOf(url), 80)}?`, markdown: `${markdownBlock(plainLine(url))}${sent}` };
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "the web";
  }
}

function named(args: Arguments, key: string): string {
  return short(nameOf(textOf(args, key) ?? "?"), 80);
}

function textOf(args: Arguments, key: string): string | undefined {
  const value = args[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function json(args: Arguments): string {
  const text = plainLines(JSON.stringify(args, null, 2)).join("\n");
  return text.length <= JSON_MAX_CHARS
    ? text
    : `${text.slice(0, JSON_MAX_CHARS)}\n… (${text.length} characters in all)`;
}
