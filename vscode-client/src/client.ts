/** One run of the server, spoken to by a language client: what is announced, which documents are told, and how it ends. */

import type { Disposable, LogOutputChannel } from "vscode";
import {
  type CancellationToken,
  type ClientCapabilities,
  CloseAction,
  DidChangeTextDocumentNotification,
  DidSaveTextDocumentNotification,
  type DynamicFeature,
  ErrorAction,
  type LanguageClientOptions,
  LSPErrorCodes,
  ProgressType,
  ResponseError,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient";
import { LanguageClient } from "vscode-languageclient/node";
import { NotConnectedError, RequestCancelledError, RequestFailedError, type ServerFacts } from "./connection";
import { SCHEMES, SyncedDocuments } from "./documents/synced";
import { CLIENT_CAPABILITIES, PROTOCOL_VERSION } from "./protocol";
import type { FoundServer } from "./server/find";
import { notStarted, otherProtocol } from "./server/problems";
import { type ServerProcess, startProcess } from "./server/process";
import type { Inbox, Session } from "./server/session";

export const CLIENT_NAME = "openbuffer";

const INITIALIZED_MS = 60_000;
const SHUTDOWN_MS = 5_000;

/** Those of the client's features that are of use; the others would offer the server's commands a second time, and more. */
const FEATURES = new Set<string | undefined>([
  undefined, // without a method: what VS Code is asked for, settings and progress
  "textDocument/didOpen",
  "textDocument/didChange",
  "textDocument/didSave",
  "textDocument/didClose",
  "workspace/didChangeWorkspaceFolders",
  "workspace/didChangeConfiguration",
]);

/** What a run needs of this window. */
export interface ClientContext {
  readonly channel: LogOutputChannel;
  /** The environment of the process. */
  readonly environment: NodeJS.ProcessEnv;
  isTrusted(): boolean;
  /** The server's settings, as they are set now. */
  settings(): Record<string, unknown>;
  /** The documents of this run; called before the first of them is told. */
  synced(documents: SyncedDocuments): void;
}

/**
 * Start a server and shake hands with it.
 *
 * @throws ServerProblem where trying again is of no use.
 */
export async function startSession(
  found: FoundServer,
  inbox: Inbox,
  context: ClientContext,
  signal: AbortSignal,
): Promise<Session> {
  let process: ServerProcess;
  context.channel.info(`Starting ${found.command.join(" ")} (${found.from})`);
  try {
    process = await startProcess(found.command, context.environment, (line) =>
      context.channel.debug(`server: ${line}`),
    );
  } catch (error) {
    throw notStarted(found.command, error instanceof Error ? error.message : String(error));
  }
  const client = new OpenbufferClient(process, context, inbox);
  const session = new ClientSession(client, process, found);
  try {
    await untilStarted(client, process, signal);
    const spoken = protocolVersion(client);
    if (spoken !== PROTOCOL_VERSION) {
      throw otherProtocol(String(spoken ?? "none"), PROTOCOL_VERSION, found.from);
    }
    return session;
  } catch (error) {
    await session.stop();
    throw error;
  }
}

class OpenbufferClient extends LanguageClient {
  constructor(process: ServerProcess, context: ClientContext, inbox: Inbox) {
    const documents = new SyncedDocuments(
      (uri, version, text) =>
        this.sendNotification(DidChangeTextDocumentNotification.type, {
          textDocument: { uri, version },
          contentChanges: [{ text }],
        }),
      (uri) => this.sendNotification(DidSaveTextDocumentNotification.type, { textDocument: { uri } }),
    );
    // Streams and not the process, whose errors would be written a second time.
    const streams = { reader: process.child.stdout, writer: process.child.stdin };
    super(CLIENT_NAME, CLIENT_NAME, () => Promise.resolve(streams), options(context, documents));
    context.synced(documents);
    for (const method of inbox.requests.keys()) {
      this.answer(inbox, method);
    }
    for (const method of inbox.notifications) {
      this.take(inbox, method);
    }
    this.inbox = inbox;
  }

  private readonly inbox: Inbox;

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const method = "registrationType" in feature ? feature.registrationType?.method : undefined;
    if (FEATURES.has(method)) {
      super.registerFeature(feature);
    }
  }

  override fillInitializeParams(params: Parameters<LanguageClient["fillInitializeParams"]>[0]): void {
    super.fillInitializeParams(params);
    const capabilities = params.capabilities as ClientCapabilities;
    capabilities.experimental = { ...capabilities.experimental, openbuffer: CLIENT_CAPABILITIES };
  }

  answer(inbox: Inbox, method: string): void {
    this.onRequest(method, (params: unknown, token: CancellationToken) => {
      const handler = inbox.requests.get(method);
      return handler === undefined ? new ResponseError(-32601, `nothing answers ${method}`) : handler(params, token);
    });
  }

  take(inbox: Inbox, method: string): void {
    this.onNotification(method, (params: unknown) => inbox.notified(method, params));
  }

  handleLater(method: string): void {
    this.answer(this.inbox, method);
  }

  listenLater(method: string): void {
    this.take(this.inbox, method);
  }
}

function options(context: ClientContext, documents: SyncedDocuments): LanguageClientOptions {
  return {
    documentSelector: SCHEMES.map((scheme) => ({ scheme })),
    outputChannel: context.channel,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: () => ({
      openbuffer: { workspaceTrusted: context.isTrusted(), settings: context.settings() },
    }),
    // Ends are handled where starts are.
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({
        action: CloseAction.DoNotRestart,
        handled: true,
        message: "The connection to the server was closed.",
      }),
    },
    initializationFailedHandler: () => false,
    middleware: {
      ...documents.middleware,
      workspace: {
        configuration: (params) =>
          params.items.map((item) => (item.section === CLIENT_NAME ? context.settings() : null)),
      },
    },
  };
}

/** Until the answer of `initialize`; an end before it, and a server that says nothing, are errors. */
async function untilStarted(client: LanguageClient, process: ServerProcess, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  const over = new Promise<never>((_, reject) => {
    void process.ended.then((why) => reject(new Error(why)));
    timer = setTimeout(() => reject(new Error("it did not answer in time")), INITIALIZED_MS);
    abort = () => reject(new Error("it was stopped"));
    signal.addEventListener("abort", abort);
  });
  try {
    await Promise.race([client.start().catch((error) => endedOr(process, error)), over]);
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) {
      signal.removeEventListener("abort", abort);
    }
  }
}

/** A connection that is closed says little; how the process ended follows a moment later. */
async function endedOr(process: ServerProcess, error: unknown): Promise<never> {
  const why = await Promise.race([
    process.ended,
    new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1_000)),
  ]);
  throw why === undefined ? error : new Error(why);
}

function protocolVersion(client: LanguageClient): unknown {
  const { experimental } = client.initializeResult?.capabilities ?? {};
  return (experimental as { openbuffer?: { protocolVersion?: unknown } } | undefined)?.openbuffer?.protocolVersion;
}

class ClientSession implements Session {
  readonly ended: Promise<string>;
  #isOver = false;

  constructor(
    private readonly client: OpenbufferClient,
    private readonly process: ServerProcess,
    private readonly found: FoundServer,
  ) {
    this.ended = process.ended.then((why) => {
      this.#isOver = true;
      return why;
    });
  }

  get facts(): ServerFacts {
    const info = this.client.initializeResult?.serverInfo;
    return {
      name: info?.name ?? "openbuffer",
      version: info?.version ?? "",
      protocolVersion: PROTOCOL_VERSION,
      from: this.found.from,
      command: this.found.command,
      processId: this.process.child.pid,
    };
  }

  async request(method: string, params: unknown, token?: CancellationToken): Promise<unknown> {
    try {
      return await this.client.sendRequest(method, params, token);
    } catch (error) {
      throw await this.#told(error, method);
    }
  }

  notify(method: string, params: unknown): void {
    this.client.sendNotification(method, params as object).catch(() => {}); // an end is told elsewhere
  }

  handle(method: string): void {
    this.client.handleLater(method);
  }

  listen(method: string): void {
    this.client.listenLater(method);
  }

  progress(token: string, listener: (value: unknown) => void): Disposable {
    return this.client.onProgress(new ProgressType<unknown>(), token, listener) as Disposable;
  }

  async stop(): Promise<void> {
    if (!this.#isOver) {
      // `exit` follows the answer to `shutdown`; a server that does not take them is ended.
      await this.client.stop(SHUTDOWN_MS).catch(() => {});
    }
    await this.process.kill();
    await this.client.dispose(0).catch(() => {});
  }

  async #told(error: unknown, method: string): Promise<Error> {
    if (error instanceof ResponseError && error.code === LSPErrorCodes.RequestCancelled) {
      return new RequestCancelledError("cancelled");
    }
    if (error instanceof ResponseError && !isOfConnection(error) && !this.#isOver) {
      return new RequestFailedError(error.message, error.code);
    }
    const why = await endedOr(this.process, error).catch((ended: unknown) => ended);
    return new NotConnectedError(
      `the server ended before it answered ${method}; what it did is not known (${why instanceof Error ? why.message : why})`,
    );
  }
}

/** Errors that this side makes for requests whose connection is gone: `ConnectionInactive`, `PendingResponseRejected`. */
function isOfConnection(error: ResponseError<unknown>): boolean {
  return error.code === -32096 || error.code === -32097;
}
