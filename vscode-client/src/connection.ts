/** What the other parts see of the server. Imports nothing of the editor but types. */
import type { CancellationToken, Disposable, Event } from "vscode";

/** `stopped`: nobody wants it to run. `starting`: also between an end and the next try. `failed`: it will not be tried again. */
export type ServerState = "stopped" | "starting" | "running" | "failed";

/** What is known of the server that runs. */
export interface ServerFacts {
  /** What it calls itself in the answer of `initialize`. */
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: number;
  /** Where it was found, in words, such as "the setting openbuffer.server.command" or "PATH". */
  readonly from: string;
  /** The command line that it was started with. */
  readonly command: readonly string[];
  readonly processId: number | undefined;
}

/** Something that a person can do about a problem: the title of a button, and the command behind it. */
export interface ProblemAction {
  readonly title: string;
  readonly command: string;
  readonly arguments?: readonly unknown[];
}

/** Why there is no server, for people. */
export interface Problem {
  readonly message: string;
  readonly actions: readonly ProblemAction[];
  /** There is no server yet, which is no fault. */
  readonly isOnlyMissing?: boolean;
}

/**
 * The connection to one server for the window. It outlives the processes: handlers and listeners that are registered here
 * are there again after every start.
 */
export interface Connection {
  readonly state: ServerState;
  /** Why it failed or is being tried again; undefined while nothing is wrong. */
  readonly problem: Problem | undefined;
  /** Undefined unless the state is `running`. */
  readonly server: ServerFacts | undefined;
  readonly onDidChangeState: Event<ServerState>;

  /** Start it unless it runs or starts. Resolves when it runs; rejects with why it does not. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** End it and look for the server anew. */
  restart(): Promise<void>;

  /**
   * Send a request. Waits while the server starts, and starts it where it is stopped.
   *
   * @throws NotConnectedError where there is no server, or it ended before it had answered.
   * @throws RequestCancelledError where the token was used and the work has stopped.
   * @throws RequestFailedError where the server answered with an error.
   */
  request<R>(method: string, params: unknown, token?: CancellationToken): Promise<R>;
  /** Send a notification; does nothing unless the server runs. */
  notify(method: string, params: unknown): void;

  /** Answer a request of the server. At most one handler per method. What it throws is an error answer. */
  handle<P, R>(method: string, handler: (params: P, token: CancellationToken) => Promise<R>): Disposable;
  /** Take a notification of the server; as many listeners as there are. */
  listen<P>(method: string, listener: (params: P) => void): Disposable;
  /** Take the values of `$/progress` for a token of this client, until the server ends or it is disposed of. */
  watchProgress(token: string, listener: (value: unknown) => void): Disposable;
}

export class NotConnectedError extends Error {
  override name = "NotConnectedError";
}

export class RequestCancelledError extends Error {
  override name = "RequestCancelledError";
}

export class RequestFailedError extends Error {
  override name = "RequestFailedError";

  constructor(
    message: string,
    /** The code of JSON-RPC; PROTOCOL.md has them. */
    readonly code: number,
  ) {
    super(message);
  }
}
