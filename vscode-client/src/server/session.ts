/** One run of the server, from its start to its end. `client.ts` makes them; the tests have their own. */
import type { CancellationToken, Disposable } from "vscode";
import type { ServerFacts } from "../connection";

export interface Session {
  readonly facts: ServerFacts;
  /** Resolves once with why, in words; never rejects. */
  readonly ended: Promise<string>;
  request(method: string, params: unknown, token?: CancellationToken): Promise<unknown>;
  notify(method: string, params: unknown): void;
  /** Have the registered handler of a method used; called for each method, before the first message where it is known. */
  handle(method: string): void;
  listen(method: string): void;
  progress(token: string, listener: (value: unknown) => void): Disposable;
  /** End it: politely, then by force. Resolves when the process is gone. */
  stop(): Promise<void>;
}

/** What a session gives the messages of its server to. */
export interface Inbox {
  readonly requests: ReadonlyMap<string, (params: unknown, token: CancellationToken) => Promise<unknown>>;
  /** Methods of notifications that somebody listens to. */
  readonly notifications: Iterable<string>;
  notified(method: string, params: unknown): void;
}

/**
 * Finds the server and starts it.
 *
 * @throws ServerProblem where trying again is of no use.
 */
export type Launch = (inbox: Inbox, signal: AbortSignal) => Promise<Session>;
