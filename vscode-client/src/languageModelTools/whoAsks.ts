/**
 * Who asks the user about a call that comes from a chat: the chat, or the rules of the server.
 *
 * The rules are the authority in any case: what they deny is not done, and what they ask about is asked, whatever was
 * said in the chat, because a chat can be told to confirm by itself and nobody sees that it did. So that the user is
 * not asked twice, the chat is silent where the rules have a word on all calls of the tool. Where they have none, or one
 * that depends on the path or the command, the chat asks. This is no decision on the call: only on the second question.
 */

/** What of the configuration counts here; `default` is one word, or a word by capability. */
export interface Permissions {
  readonly deny: readonly string[];
  readonly ask: readonly string[];
  readonly allow: readonly string[];
  readonly default: string | Readonly<Record<string, string>>;
}

/** What a user may want: the above, the chat for each call with effects, or the rules alone. */
export type Confirmations = "auto" | "always" | "rules";

const HARMLESS = new Set(["FILE_READ", "SCREEN_READ", "ASK_USER", "SESSION"]);
const CHANGING = new Set(["Edit", "Write", "FILE_WRITE"]);

/** What a tool can do to the world; one that declares nothing is not known to do nothing. */
export function effectsOf(capabilities: readonly string[]): readonly string[] {
  return capabilities.length === 0 ? ["UNKNOWN"] : capabilities.filter((capability) => !HARMLESS.has(capability));
}

/** Whether the chat is to ask. `permissions`: undefined where they are not known. */
export function chatAsks(
  tool: string,
  capabilities: readonly string[],
  permissions: Permissions | undefined,
  wanted: Confirmations,
): boolean {
  const effects = effectsOf(capabilities);
  if (effects.length === 0 || wanted === "rules") {
    return false;
  }
  return wanted === "always" || permissions === undefined || !haveAWordOnAll(tool, effects, permissions);
}

function haveAWordOnAll(tool: string, effects: readonly string[], permissions: Permissions): boolean {
  const isMeant = (rule: string) => isAbout(rule, tool, effects);
  if ([...permissions.deny, ...permissions.ask].some(isMeant)) {
    return true;
  }
  const byDefault = permissions.default;
  const word = (effect: string) => (typeof byDefault === "string" ? byDefault : (byDefault[effect] ?? "allow"));
  if (effects.some((effect) => word(effect) !== "allow")) {
    return true;
  }
  const allowed = new Set(permissions.allow);
  return namesOf(tool).some((name) => allowed.has(name)) || effects.every((effect) => allowed.has(effect));
}

/** Whether a rule that denies or asks is about all calls of the tool: it has no brackets. */
function isAbout(rule: string, tool: string, effects: readonly string[]): boolean {
  const name = rule.trim();
  return (
    namesOf(tool).includes(name) || effects.includes(name) || (CHANGING.has(name) && effects.includes("FILE_WRITE"))
  );
}

/** `Shell` and `Bash` are one. */
function namesOf(tool: string): readonly string[] {
  return tool === "Shell" || tool === "Bash" ? ["Shell", "Bash"] : [tool];
}

/** The permissions in the answer of `openbuffer config --json`; undefined where it is none. */
export function permissionsOf(config: unknown): Permissions | undefined {
  const settings = (config as { settings?: Record<string, { value?: unknown } | undefined> } | undefined)?.settings;
  const value = (key: string) => settings?.[`permissions.${key}`]?.value;
  const [deny, ask, allow, byDefault] = ["deny", "ask", "allow", "default"].map(value);
  if (!isTexts(deny) || !isTexts(ask) || !isTexts(allow) || !isDefault(byDefault)) {
    return undefined;
  }
  return { deny, ask, allow, default: byDefault };
}

/** With what the editor's settings say besides: rules add up, its default counts in the place of the other. */
export function withEditorSettings(base: Permissions, settings: unknown): Permissions {
  const said = (settings ?? {}) as { deny?: unknown; ask?: unknown; allow?: unknown; default?: unknown };
  const more = (value: unknown): readonly string[] => (isTexts(value) ? value : []);
  return {
    deny: [...base.deny, ...more(said.deny)],
    ask: [...base.ask, ...more(said.ask)],
    allow: [...base.allow, ...more(said.allow)],
    default: isDefault(said.default) ? said.default : base.default,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function isDefault(value: unknown): value is string | Readonly<Record<string, string>> {
  return typeof value === "string" || (typeof value === "object" && value !== null && !Array.isArray(value));
}
