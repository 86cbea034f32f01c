import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findServer, findServers, type Places } from "../src/server/find";

let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "openbuffer-find-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function program(...names: string[]): string {
  const file = path.join(root, ...names);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, 0o755);
  return file;
}

function places(given: Partial<Places> = {}): Places {
  return {
    setting: null,
    arguments: [],
    path: path.join(root, "path"),
    excluded: [],
    own: path.join(root, "own", "bin", "openbuffer"),
    interpreters: async () => [{ path: path.join(root, "venv", "bin", "python"), from: "the environment" }],
    ...given,
  };
}

describe("the server", () => {
  it("is that of the setting before all others", async () => {
    program("path", "openbuffer");
    expect(await findServer(places({ setting: "/opt/openbuffer", arguments: ["--log-level", "debug"] }))).toEqual({
      command: ["/opt/openbuffer", "serve", "--log-level", "debug"],
      from: "the setting openbuffer.server.command",
    });
  });

  it.each([
    ["a list", ["python3", "-m", "openbuffer.bridge"], ["python3", "-m", "openbuffer.bridge", "serve"]],
    ["a list that has the subcommand", ["ob", "serve", "--x"], ["ob", "serve", "--x"]],
    ["a path of the home directory", "~/bin/ob", [`${homedir()}/bin/ob`, "serve"]],
  ])("can be set as %s", async (_, setting, command) => {
    expect((await findServer(places({ setting })))?.command).toEqual(command);
  });

  it.each([["", " ", [], [1], {}, 7]])("is looked for where the setting says nothing: %j", async (setting) => {
    const onPath = program("path", "openbuffer");
    expect((await findServer(places({ setting })))?.command[0]).toBe(onPath);
  });

  it("is that of PATH before that of a Python environment", async () => {
    const onPath = program("path", "openbuffer");
    program("venv", "bin", "openbuffer");
    expect(await findServer(places())).toEqual({ command: [onPath, "serve"], from: "PATH" });
  });

  it("is that of the Python environment before the private one", async () => {
    const inVenv = program("venv", "bin", "openbuffer");
    program("own", "bin", "openbuffer");
    expect(await findServer(places())).toEqual({ command: [inVenv, "serve"], from: "the environment" });
  });

  it("is the private one at last", async () => {
    const own = program("own", "bin", "openbuffer");
    expect(await findServer(places())).toMatchObject({ command: [own, "serve"] });
  });

  it("that is found first may be of no use: then there are the others", async () => {
    const all = [
      program("path", "openbuffer"),
      program("venv", "bin", "openbuffer"),
      program("own", "bin", "openbuffer"),
    ];
    const found: unknown[] = [];
    for await (const { command } of findServers(places())) {
      found.push(command[0]);
    }
    expect(found).toEqual(all);
  });

  it("may be nowhere", async () => {
    expect(await findServer(places())).toBeUndefined();
  });

  it("is no file that cannot be executed, and no directory", async () => {
    chmodSync(program("path", "openbuffer"), 0o644);
    mkdirSync(path.join(root, "venv", "bin", "openbuffer"), { recursive: true });
    expect(await findServer(places())).toBeUndefined();
  });

  it("is not run from a workspace that is not trusted, from wherever it is named", async () => {
    program("workspace", ".venv", "bin", "openbuffer");
    const here = path.join(root, "workspace", ".venv", "bin");
    const interpreters = async () => [{ path: path.join(here, "python"), from: "the environment" }];
    const given = { path: here, interpreters, own: "/nowhere" };
    expect(await findServer(places(given))).toMatchObject({ from: "PATH" });
    expect(await findServer(places({ ...given, excluded: [path.join(root, "workspace")] }))).toBeUndefined();
  });

  it("is not run from a relative directory of PATH", async () => {
    expect(await findServer(places({ path: `.${path.delimiter}${path.delimiter}bin` }))).toBeUndefined();
  });
});
