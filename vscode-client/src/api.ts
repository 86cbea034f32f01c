/**
 * What other extensions get of this one: `await vscode.extensions.getExtension("openbuffer.openbuffer").activate()`. Calls go
 * the way of all others: rules, approvals and the log are the server's.
 */
import type { Event } from "vscode";
import type { CallOptions, CallOutcome, Calls } from "./calls";
import type { Connection, Problem, ServerFacts, ServerState } from "./connection";
import type { ToolDescription } from "./protocol";

export interface OpenbufferApi {
  readonly serverState: ServerState;
  readonly server: ServerFacts | undefined;
  readonly problem: Problem | undefined;
  readonly onDidChangeServerState: Event<ServerState>;
  /** The tools that can be called now. */
  tools(): Promise<readonly ToolDescription[]>;
  /** As `Calls.call`: what goes wrong in the tool is an outcome with `isError`, and no exception. */
  callTool(name: string, args: object, options?: CallOptions): Promise<CallOutcome>;
}

export function createApi(connection: Connection, calls: Calls): OpenbufferApi {
  return Object.freeze({
    get serverState() {
      return connection.state;
    },
    get server() {
      return connection.server;
    },
    get problem() {
      return connection.problem;
    },
    onDidChangeServerState: connection.onDidChangeState,
    tools: () => calls.tools(),
    callTool: (name: string, args: object, options?: CallOptions) => calls.call(name, args, options),
  });
}
