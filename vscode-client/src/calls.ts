/** Listing and calling the server's tools. */
import type { CancellationToken, Event } from "vscode";
import type { CallToolResult, ToolDescription, WithheldTools } from "./protocol";

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
