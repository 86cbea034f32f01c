/** The tools as `contributes.languageModelTools` has them; scripts/language_model_tools.py makes that list. */

const PREFIX = "openbuffer_";

/** One of the list. */
export interface ContributedTool {
  /** By which models know it. */
  readonly name: string;
  readonly toolReferenceName: string;
  readonly displayName: string;
  readonly inputSchema: object;
  readonly tags: readonly string[];
}

/** The server's name of a contributed tool. */
export function serverName(contributed: string): string {
  return contributed.startsWith(PREFIX) ? contributed.slice(PREFIX.length) : contributed;
}

/** The list of a `package.json`; what is no tool of ours is left out. */
export function contributedTools(packageJson: unknown): ContributedTool[] {
  const contributes = (packageJson as { contributes?: { languageModelTools?: unknown } } | undefined)?.contributes;
  const tools = Array.isArray(contributes?.languageModelTools) ? contributes.languageModelTools : [];
  return (tools as ContributedTool[]).filter((tool) => tool.name.startsWith(PREFIX));
}
