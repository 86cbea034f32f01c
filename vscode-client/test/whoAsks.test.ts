import { describe, expect, test } from "vitest";
import { chatAsks, type Permissions, permissionsOf, withEditorSettings } from "../src/languageModelTools/whoAsks";

const NONE: Permissions = { deny: [], ask: [], allow: [], default: "allow" };
const WRITES = ["FILE_READ", "FILE_WRITE"];

describe("who asks about a call from a chat", () => {
  test.each([
    ["reads alone", "Read", ["FILE_READ"]],
    ["asks the user alone", "AskUserQuestion", ["ASK_USER"]],
    ["keeps tasks of the session", "TaskCreate", ["SESSION"]],
  ])("nobody, where it %s", (_, tool, capabilities) => {
    expect(chatAsks(tool, capabilities, NONE, "auto")).toBe(false);
    expect(chatAsks(tool, capabilities, NONE, "always")).toBe(false);
  });

  test("the chat, where a tool declares nothing", () => {
    expect(chatAsks("Odd", [], NONE, "auto")).toBe(true);
  });

  test("the chat, where there are no rules, or none that are known", () => {
    expect(chatAsks("Edit", WRITES, NONE, "auto")).toBe(true);
    expect(chatAsks("Shell", ["SHELL"], undefined, "auto")).toBe(true);
  });

  test.each<[string, Partial<Permissions>]>([
    ["ask about the tool", { ask: ["Edit"] }],
    ["ask about changing by any tool", { ask: ["Write"] }],
    ["ask about the capability", { ask: ["FILE_WRITE"] }],
    ["deny it", { deny: ["Edit"] }],
    ["ask about whatever has no rule", { default: "ask" }],
    ["ask about the capability where there is no rule", { default: { FILE_WRITE: "ask" } }],
    ["allow the tool", { allow: ["Edit"] }],
    ["allow the capability", { allow: ["FILE_READ", "FILE_WRITE"] }],
  ])("the rules alone, where they %s", (_, rules) => {
    expect(chatAsks("Edit", WRITES, { ...NONE, ...rules }, "auto")).toBe(false);
  });

  test.each<[string, Partial<Permissions>]>([
    ["ask about some paths", { ask: ["Edit(secret/**)"] }],
    ["allow some paths", { allow: ["Edit(src/**)"] }],
    ["ask about another capability", { default: { SHELL: "ask" } }],
    ["ask about another tool", { ask: ["Delete"] }],
    ["allow another tool, which to allow is another one", { allow: ["Write"] }],
  ])("the chat, where the rules %s", (_, rules) => {
    expect(chatAsks("Edit", WRITES, { ...NONE, ...rules }, "auto")).toBe(true);
  });

  test("Shell and Bash are one", () => {
    expect(chatAsks("Shell", ["SHELL"], { ...NONE, ask: ["Bash"] }, "auto")).toBe(false);
    expect(chatAsks("Bash", ["SHELL"], { ...NONE, allow: ["Shell"] }, "auto")).toBe(false);
  });

  test("whoever the user wants", () => {
    expect(chatAsks("Edit", WRITES, NONE, "rules")).toBe(false);
    expect(chatAsks("Edit", WRITES, { ...NONE, ask: ["Edit"] }, "always")).toBe(true);
  });
});

describe("the rules that count", () => {
  const config = (value: unknown) => {
    const none = { value: [] };
    return {
      settings: {
        "permissions.deny": none,
        "permissions.ask": none,
        "permissions.allow": none,
        "permissions.default": { value },
      },
    };
  };

  test("are those of the server's configuration", () => {
    expect(permissionsOf(config({ SHELL: "ask" }))).toEqual({ ...NONE, default: { SHELL: "ask" } });
  });

  test("are not known where that is not what was expected", () => {
    expect(permissionsOf(undefined)).toBeUndefined();
    expect(permissionsOf(config(3))).toBeUndefined();
    expect(permissionsOf({ settings: {} })).toBeUndefined();
  });

  test("are added to by the editor, whose default counts", () => {
    expect(withEditorSettings({ ...NONE, ask: ["A"] }, { ask: ["B"], default: "deny" })).toEqual({
      ...NONE,
      ask: ["A", "B"],
      default: "deny",
    });
    expect(withEditorSettings(NONE, undefined)).toEqual(NONE);
  });
});
