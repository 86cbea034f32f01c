/** Listing and calling the server's tools. */
import type { CancellationToken, Disposable, Event } from "vscode";
import { type Connection, RequestCancelledError } from "./connection";
import { Emitter } from "./events";
import {
  CALL_TOOL,
  type CallToolParams,
  type CallToolResult,
  LIST_TOOLS,
  type ListToolsResult,
  TOOLS_CHANGED,
  type ToolDescription,
  type WithheldTools,
} from "./protocol";

export interface CallProgress {
  /** One line, for people. */
  readonly message: string | undefined;
  /** 0 to 100, where the server knows. */
  readonly percentage: number | undefined;
}

export type CallOutcome = CallToolResult;

/** A call that was made through this window. */
export interface RunningCall {
  /** Unique in this window; counts up. */
  readonly id: number;
  readonly tool: string;
  readonly args: object;
  readonly startedAt: Date;
  readonly lastProgress: CallProgress | undefined;
  cancel(): void;
}

export interface FinishedCall {
  readonly id: number;
  readonly tool: string;
  readonly args: object;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Exactly one of the two: what the tool answered, or why there is no answer (cancelled, the server ended, ...). */
  readonly outcome: CallOutcome | undefined;
  readonly failure: Error | undefined;
}

export interface CallOptions {
  readonly token?: CancellationToken;
  readonly progress?: (progress: CallProgress) => void;
}

export interface Calls {
  /** The tools that can be called now; asked for again after they have changed. */
  tools(): Promise<readonly ToolDescription[]>;
  /** Those that are there and cannot be called, as told by the last listing. */
  readonly withheld: WithheldTools | undefined;
  readonly onDidChangeTools: Event<void>;

  /** Call a tool. Rejects as `Connection.request` does; what goes wrong in the tool is an outcome with `isError`. */
  call(tool: string, args: object, options?: CallOptions): Promise<CallOutcome>;
  readonly running: readonly RunningCall[];
  readonly onDidStartCall: Event<RunningCall>;
  readonly onDidFinishCall: Event<FinishedCall>;
}

class Call implements RunningCall {
  readonly startedAt = new Date();
  lastProgress: CallProgress | undefined;
  readonly cancellation = new Cancellation();

  constructor(
    readonly id: number,
    readonly tool: string,
    readonly args: object,
  ) {}

  cancel(): void {
    this.cancellation.cancel();
  }
}

export class ServerCalls implements Calls, Disposable {
  readonly #started: Emitter<RunningCall>;
  readonly #finished: Emitter<FinishedCall>;
  readonly #toolsChanged: Emitter<void>;
  readonly #running = new Map<number, Call>();
  readonly #subscriptions: Disposable[];
  #numbers = 0;
  #tools: Promise<readonly ToolDescription[]> | undefined;
  #withheld: WithheldTools | undefined;

  constructor(
    private readonly connection: Connection,
    onError: (error: unknown) => void = () => {},
  ) {
    this.#started = new Emitter(onError);
    this.#finished = new Emitter(onError);
    this.#toolsChanged = new Emitter(onError);
    this.#subscriptions = [
      connection.listen(TOOLS_CHANGED, () => this.#forgetTools()),
      connection.onDidChangeState((state) => {
        // Another server may have others. Of one that ends nothing is told: whoever asked then would start it.
        this.#tools = undefined;
        if (state === "running") {
          this.#toolsChanged.fire();
        }
      }),
    ];
  }

  get onDidStartCall() {
    return this.#started.event;
  }

  get onDidFinishCall() {
    return this.#finished.event;
  }

  get onDidChangeTools() {
    return this.#toolsChanged.event;
  }

  get running(): readonly RunningCall[] {
    return [...this.#running.values()];
  }

  get withheld(): WithheldTools | undefined {
    return this.#withheld;
  }

  tools(): Promise<readonly ToolDescription[]> {
    this.#tools ??= this.#list();
    return this.#tools;
  }

  async call(tool: string, args: object, options: CallOptions = {}): Promise<CallOutcome> {
    const call = new Call(++this.#numbers, tool, args);
    const { cancellation } = call;
    const outer = options.token?.onCancellationRequested(() => cancellation.cancel());
    if (options.token?.isCancellationRequested) {
      cancellation.cancel();
    }
    this.#running.set(call.id, call);
    this.#started.fire(call);
    try {
      const outcome = await this.#send(call, options);
      if (outcome.toolsChanged) {
        this.#forgetTools();
      }
      this.#finish(call, outcome, undefined);
      return outcome;
    } catch (error) {
      this.#finish(call, undefined, error instanceof Error ? error : new Error(String(error)));
      throw error;
    } finally {
      outer?.dispose();
    }
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
    for (const call of this.#running.values()) {
      call.cancel();
    }
  }

  async #send(call: Call, options: CallOptions): Promise<CallOutcome> {
    if (this.connection.state !== "failed") {
      // So that progress is watched where the call goes. Nobody has to wait for the start of a server to cancel.
      await Promise.race([this.connection.start(), call.cancellation.requested]);
    }
    if (call.cancellation.token.isCancellationRequested) {
      throw new RequestCancelledError("cancelled");
    }
    const workDoneToken = `openbuffer-call-${call.id}`;
    const progress = this.connection.watchProgress(workDoneToken, (value) => {
      const told = progressOf(value);
      if (told !== undefined) {
        call.lastProgress = told;
        options.progress?.(told);
      }
    });
    try {
      const params: CallToolParams = { name: call.tool, arguments: call.args, workDoneToken };
      return await this.connection.request<CallOutcome>(CALL_TOOL, params, call.cancellation.token);
    } finally {
      progress.dispose();
    }
  }

  #finish(call: Call, outcome: CallOutcome | undefined, failure: Error | undefined): void {
    this.#running.delete(call.id);
    const { id, tool, args, startedAt } = call;
    this.#finished.fire({ id, tool, args, startedAt, durationMs: Date.now() - startedAt.getTime(), outcome, failure });
  }

  async #list(): Promise<readonly ToolDescription[]> {
    try {
      const { tools, withheld } = await this.connection.request<ListToolsResult>(LIST_TOOLS, undefined);
      this.#withheld = withheld;
      return tools;
    } catch (error) {
      this.#tools = undefined;
      throw error;
    }
  }

  #forgetTools(): void {
    this.#tools = undefined;
    this.#toolsChanged.fire();
  }
}

/** What `begin` and `report` of LSP's progress tell; undefined of anything else. */
function progressOf(value: unknown): CallProgress | undefined {
  const { kind, message, title, percentage } = (value ?? {}) as { [name: string]: unknown };
  if (kind !== "begin" && kind !== "report") {
    return undefined;
  }
  const line = typeof message === "string" ? message : kind === "begin" ? title : undefined;
  return {
    message: typeof line === "string" ? line : undefined,
    percentage: typeof percentage === "number" ? percentage : undefined,
  };
}

/** The editor's `CancellationTokenSource`, for a module that is tried without it. */
class Cancellation {
  readonly #cancelled = new Emitter<void>();
  #isCancelled = false;
  readonly token: CancellationToken;
  readonly requested: Promise<void>;

  constructor() {
    const isCancelled = () => this.#isCancelled;
    this.requested = new Promise((resolve) => this.#cancelled.event(() => resolve()));
    this.token = {
      get isCancellationRequested() {
        return isCancelled();
      },
      onCancellationRequested: this.#cancelled.event,
    };
  }

  cancel(): void {
    if (!this.#isCancelled) {
      this.#isCancelled = true;
      this.#cancelled.fire();
    }
  }
}
