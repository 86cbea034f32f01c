/** `openbuffer doctor`, as a page: what of the server works here, and how to get what does not. */
import { markdownWords } from "../dialogs/plain";

interface Finding {
  readonly name: string;
  readonly state: string;
  readonly detail: string;
  readonly fix?: string;
}

const MARKS: Readonly<Record<string, string>> = { good: "✓", note: "!", bad: "✗" };

/** The page of a report, in Markdown; undefined where it is none. */
export function doctorPage(stdout: string, facts: readonly string[]): string | undefined {
  let report: { works?: unknown; findings?: unknown };
  try {
    report = JSON.parse(stdout) as typeof report;
  } catch {
    return undefined;
  }
  if (!Array.isArray(report.findings)) {
    return undefined;
  }
  const rows = (report.findings as Finding[]).map(({ name, state, detail, fix }) => {
    const todo = fix && state !== "good" ? `<br>→ ${cell(fix)}` : "";
    return `| ${MARKS[state] ?? "•"} | ${cell(name)} | ${cell(detail)}${todo} |`;
  });
  const verdict = report.works === true ? "openbuffer works here." : "openbuffer does not work here.";
  return [
    "# openbuffer doctor",
    "",
    verdict,
    "",
    ...facts.map((fact) => `- ${markdownWords(fact, 1_000)}`),
    "",
    "| | what | how it is |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function cell(text: string): string {
  return markdownWords(text, 1_000);
}
