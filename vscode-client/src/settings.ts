/** The server's own settings as they are set in the editor, with the names that the server knows. Pure. */

/** The tables of the server's configuration; a test holds them against it. */
export const TABLES = ["roots", "limits", "sandbox", "commands", "log", "permissions", "web", "search"];

const SECTION = "openbuffer.";

/** Those of the contributed settings that are the server's: `openbuffer.sandbox.allowWrite`, without the first word. */
export function serverKeys(contributed: readonly string[]): string[] {
  return contributed
    .filter((key) => key.startsWith(SECTION))
    .map((key) => key.slice(SECTION.length))
    .filter((key) => TABLES.includes(key.split(".", 1)[0] ?? ""));
}

/** `allowWrite` as the server has it: `allow_write`. */
export function serverName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What is set, as an object of tables; what is not set is not in it. */
export function serverSettings(keys: readonly string[], valueFor: (key: string) => unknown): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const key of keys) {
    const value = valueFor(key);
    if (value === undefined || value === null) {
      continue;
    }
    const names = key.split(".").map(serverName);
    const last = names.pop() ?? "";
    let table = settings;
    for (const name of names) {
      table[name] ??= {};
      table = table[name] as Record<string, unknown>;
    }
    table[last] = value;
  }
  return settings;
}
