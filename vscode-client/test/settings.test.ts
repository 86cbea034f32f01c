import { expect, it } from "vitest";
import { serverKeys, serverName, serverSettings } from "../src/settings";

it("the server's keys are told from this extension's own", () => {
  const contributed = [
    "openbuffer.server.command",
    "openbuffer.sandbox.allowWrite",
    "openbuffer.roots",
    "other.log.days",
  ];
  expect(serverKeys(contributed)).toEqual(["sandbox.allowWrite", "roots"]);
});

it("names are the server's", () => {
  expect(["allowWrite", "enabled", "maxOutputChars", "timeoutS"].map(serverName)).toEqual([
    "allow_write",
    "enabled",
    "max_output_chars",
    "timeout_s",
  ]);
});

it("only what is set is told", () => {
  const values: Record<string, unknown> = {
    "sandbox.enabled": false,
    "permissions.deny": ["Shell"],
    roots: ["/x"],
    "web.proxy": null,
  };
  const keys = ["sandbox.enabled", "sandbox.network", "permissions.deny", "roots", "web.proxy"];
  expect(serverSettings(keys, (key) => values[key])).toEqual({
    sandbox: { enabled: false },
    permissions: { deny: ["Shell"] },
    roots: ["/x"],
  });
});
