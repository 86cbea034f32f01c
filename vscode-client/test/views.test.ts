import { describe, expect, test } from "vitest";
import {
  bySession,
  changeOf,
  changesFile,
  type LoggedCall,
  readCalls,
  titleOfSession,
  tooltipOf,
  type WholeCall,
} from "../src/views/callLog";
import { doctorPage } from "../src/views/doctor";
import { subcommandOf } from "../src/views/program";
import { type StatusFacts, sandboxInWords, statusText } from "../src/views/statusText";
import { argumentRows, firstSentence, missing, readValue, typedOf } from "../src/views/toolForm";

function call(number: number, more: Partial<LoggedCall> = {}): LoggedCall {
  return {
    number,
    callId: `c${number}`,
    tool: "Edit",
    outcome: "succeeded",
    at: "2026-01-02T03:04:05.000+00:00",
    seconds: 0.1,
    session: { number: 1, key: "k1", face: "serve", process: 7, alive: true },
    targets: [{ path: "/w/a.txt", access: "FILE_WRITE" }],
    ...more,
  };
}

describe("the log", () => {
  test("is read line by line, and what is no call is left out", () => {
    const lines = [JSON.stringify(call(1)), "{", "3", '{"number": 1}', "", JSON.stringify(call(2))];
    expect(readCalls(lines.join("\n")).map(({ number }) => number)).toEqual([1, 2]);
  });

  test("has its sessions and calls with the newest first", () => {
    const other = { number: 2, key: "k2", face: "call", process: 8, alive: false };
    const sessions = bySession([call(1), call(3), call(2, { session: other })], undefined);
    expect(sessions.map(({ session, calls }) => [session.key, calls.map(({ number }) => number)])).toEqual([
      ["k2", [2]],
      ["k1", [3, 1]],
    ]);
  });

  test("of other folders is left out", () => {
    const [here] = [call(1)];
    const there = call(2, {
      session: { ...here.session, key: "k2" },
      targets: [{ path: "/wx/b", access: "FILE_READ" }],
    });
    expect(bySession([here, there], ["/w"]).map(({ session }) => session.key)).toEqual(["k1"]);
    const told = call(3, { session: { ...here.session, key: "k3", roots: ["/w"] }, targets: [] });
    expect(bySession([told], ["/w"])).toHaveLength(1);
    expect(bySession([told], ["/v"])).toHaveLength(0);
  });

  test("tells this window's session from others", () => {
    const [own] = bySession([call(1)], undefined);
    expect(own && titleOfSession(own, true)).toBe("This window");
    expect(own && titleOfSession(own, false)).toMatch(/^Session 1/);
  });

  test("has the change of the last attempt that was begun", () => {
    const change = (after: string) => ({
      path: "/w/a.txt",
      kind: "file",
      hunks: [{ start_line: 2, before: "a\n", after }],
      before_bytes: 2,
      after_bytes: 2,
    });
    const whole: WholeCall = {
      ...call(1),
      events: [
        { kind: "asked", change: change("0\n") },
        { kind: "intended", change: change("b\n") },
        { kind: "intended", change: change("c\n"), before: { sha256: "x" } },
        { kind: "finished" },
      ],
    };
    expect(changeOf(whole)).toMatchObject({ hasBefore: true, hunks: [{ startLine: 2, before: "a\n", after: "c\n" }] });
    expect(changeOf({ ...call(1), events: [] })).toBeUndefined();
  });

  test("knows what changed a file, and hides nothing in a tooltip", () => {
    expect(changesFile(call(1))).toBe(true);
    expect(changesFile(call(1, { outcome: "failed" }))).toBe(false);
    expect(tooltipOf(call(1, { error: "a\u202eb" }))).toContain("a<U+202E>b");
  });
});

describe("the status bar", () => {
  const facts: StatusFacts = {
    state: "running",
    problem: undefined,
    server: { name: "openbuffer", version: "0.1.0", protocolVersion: 1, from: "PATH", command: ["ob"], processId: 1 },
    waiting: [],
    running: [],
    unsaved: 0,
    sandbox: undefined,
    isTrusted: true,
  };

  test.each<[string, Partial<StatusFacts>, string, string | undefined]>([
    ["it runs", {}, "$(pass) openbuffer", undefined],
    ["two documents are unsaved", { unsaved: 2 }, "$(pass) openbuffer $(circle-filled) 2", undefined],
    ["the workspace is not trusted", { isTrusted: false }, "$(workspace-untrusted) openbuffer", undefined],
    ["a call runs", { running: ["Shell"] }, "$(sync~spin) openbuffer: Shell", undefined],
    ["calls run", { running: ["Shell", "Grep"] }, "$(sync~spin) openbuffer: 2 calls", undefined],
    ["something waits", { waiting: ["Edit: a.txt"], unsaved: 1 }, "$(question) openbuffer: Edit: a.txt", "warning"],
    ["several wait", { waiting: ["A", "B"] }, "$(question) openbuffer: A (1 of 2)", "warning"],
    ["it starts", { state: "starting", server: undefined }, "$(loading~spin) openbuffer: starting", undefined],
    ["it was stopped", { state: "stopped", server: undefined }, "$(debug-disconnect) openbuffer: stopped", undefined],
    ["there is none", { state: "failed", server: undefined }, "$(error) openbuffer: no server", "error"],
  ])("says that %s", (_, more, text, background) => {
    expect(statusText({ ...facts, ...more })).toMatchObject({ text, background });
  });

  test("takes no icon from what is asked", () => {
    expect(statusText({ ...facts, waiting: ["$(check)"] }).text).not.toContain("$(check)");
  });

  test("knows the sandbox by the server's settings, and those of the editor before them", () => {
    const config = { settings: { "sandbox.enabled": { value: true }, "sandbox.network": { value: false } } };
    expect(sandboxInWords(config, undefined)).toBe("on, without a network");
    expect(sandboxInWords(config, { network: true })).toBe("on, with a network");
    expect(sandboxInWords(config, { enabled: false })).toMatch(/^off/);
    expect(sandboxInWords(undefined, undefined)).toBeUndefined();
  });
});

describe("the program", () => {
  test.each([
    [["ob", "serve"], false, ["ob", "log", "--json"]],
    [["python", "-m", "ob", "serve", "--log-level", "debug"], true, ["python", "-m", "ob", "log", "--json"]],
    [["ob", "serve", "--config", "c.toml", "--stdio"], true, ["ob", "log", "--config", "c.toml", "--json"]],
    [["ob", "serve", "--config=c.toml"], true, ["ob", "log", "--config=c.toml", "--json"]],
    [["ob", "serve", "--config", "c.toml"], false, ["ob", "log", "--json"]],
  ])("is that of %j with another subcommand", (serving, takesConfig, command) => {
    expect(subcommandOf(serving, ["log", "--json"], takesConfig)).toEqual(command);
  });
});

describe("the arguments of a tool by hand", () => {
  const rows = argumentRows({
    properties: {
      limit: { type: "integer", default: 3 },
      filePath: { type: "string" },
      mode: { anyOf: [{ enum: ["a", "b"], type: "string" }, { type: "null" }], default: null },
      deep: { type: "boolean" },
      many: { type: "array" },
    },
    required: ["filePath"],
  });

  test("begin with what is needed", () => {
    expect(rows.map(({ name, kind }) => [name, kind])).toEqual([
      ["filePath", "text"],
      ["limit", "number"],
      ["mode", "choice"],
      ["deep", "boolean"],
      ["many", "json"],
    ]);
    expect(missing(rows, {})).toEqual(["filePath"]);
    expect(missing(rows, { filePath: "" })).toEqual([]);
  });

  test("are read by their kind", () => {
    const of = (name: string, typed: string) => {
      const row = rows.find((each) => each.name === name);
      return row && readValue(row, typed);
    };
    expect(of("filePath", "a\\nb\\\\n")).toEqual({ value: "a\nb\\n" });
    expect(of("limit", "7")).toEqual({ value: 7 });
    expect(of("limit", "x")).toEqual({ trouble: "This is no number." });
    expect(of("deep", "true")).toEqual({ value: true });
    expect(of("many", "[1]")).toEqual({ value: [1] });
    expect(of("many", "[")).toEqual({ trouble: "This is no JSON." });
  });

  test("are typed as they are read", () => {
    const [row] = rows;
    for (const text of ["a\nb\tc", "a\\nb", "C:\\x\\new", "\\\\"]) {
      expect(row && readValue(row, typedOf(row, text))).toEqual({ value: text });
    }
  });

  test("have a first sentence", () => {
    expect(firstSentence("One, a.b two. Three.")).toBe("One, a.b two.");
    expect(firstSentence("none")).toBe("none");
  });
});

describe("the doctor", () => {
  test("has a page with what is wrong and how to get it right", () => {
    const report = { works: false, findings: [{ name: "git", state: "bad", detail: "a|b", fix: "get it" }] };
    const page = doctorPage(JSON.stringify(report), ["Server: failed"]) ?? "";
    expect(page).toContain("openbuffer does not work here.");
    expect(page).toContain("→ get it");
    expect(page).not.toContain("a|b");
  });

  test("has none where there is no report", () => {
    expect(doctorPage("no JSON", [])).toBeUndefined();
    expect(doctorPage("{}", [])).toBeUndefined();
  });
});
