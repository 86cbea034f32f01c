/** The connection that outlives the server's processes: it starts them, again after they ended, and gives up at some point. */
import type { CancellationToken, Disposable } from "vscode";
import { type Connection, NotConnectedError, type Problem, type ServerFacts, type ServerState } from "../connection";
import { Emitter } from "../events";
import { Backoff } from "./backoff";
import { ended, keepsEnding, ServerProblem } from "./problems";
import type { Inbox, Launch, Session } from "./session";

type Handler = (params: unknown, token: CancellationToken) => Promise<unknown>;
type Listener = (params: unknown) => void;

export interface SupervisorLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export class Supervisor implements Connection {
  readonly #changed: Emitter<ServerState>;
  readonly #handlers = new Map<string, Handler>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #backoff = new Backoff();
  readonly #inbox: Inbox;

  #state: ServerState = "stopped";
  #problem: Problem | undefined;
  #session: Session | undefined;
  /** Ends the run that is wanted now; a new one is made for each start that somebody asked for. */
  #run: AbortController | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> = Promise.resolve();

  constructor(
    private readonly launch: Launch,
    private readonly log: SupervisorLog,
  ) {
    this.#changed = new Emitter((error) => log.error(`A listener failed: ${String(error)}`));
    const listeners = this.#listeners;
    this.#inbox = {
      requests: this.#handlers,
      get notifications() {
        return listeners.keys();
      },
      notified: (method, params) => {
        for (const listener of [...(listeners.get(method) ?? [])]) {
          listener(params);
        }
      },
    };
  }

  get onDidChangeState() {
    return this.#changed.event;
  }

  get state(): ServerState {
    return this.#state;
  }

  get problem(): Problem | undefined {
    return this.#problem;
  }

  get server(): ServerFacts | undefined {
    return this.#state === "running" ? this.#session?.facts : undefined;
  }

  start(): Promise<void> {
    if (this.#state === "running") {
      return Promise.resolve();
    }
    if (this.#starting === undefined) {
      this.#backoff.reset();
      this.#problem = undefined;
      this.#begin();
    }
    return this.#starting ?? Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#run?.abort();
    this.#run = undefined;
    this.#starting = undefined;
    const session = this.#session;
    this.#session = undefined;
    this.#problem = undefined;
    this.#to("stopped");
    if (session !== undefined) {
      this.#stopping = Promise.all([this.#stopping, session.stop()]).then(() => {});
    }
    await this.#stopping;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async request<R>(method: string, params: unknown, token?: CancellationToken): Promise<R> {
    const session = await this.#running();
    return (await session.request(method, params, token)) as R;
  }

  notify(method: string, params: unknown): void {
    if (this.#state === "running") {
      this.#session?.notify(method, params);
    }
  }

  handle<P, R>(method: string, handler: (params: P, token: CancellationToken) => Promise<R>): Disposable {
    if (this.#handlers.has(method)) {
      throw new Error(`${method} has a handler already`);
    }
    this.#handlers.set(method, handler as Handler);
    this.#session?.handle(method);
    return { dispose: () => this.#handlers.delete(method) } as Disposable;
  }

  listen<P>(method: string, listener: (params: P) => void): Disposable {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners);
    listeners.add(listener as Listener);
    this.#session?.listen(method);
    return { dispose: () => listeners.delete(listener as Listener) } as Disposable;
  }

  watchProgress(token: string, listener: (value: unknown) => void): Disposable {
    return this.#session?.progress(token, listener) ?? ({ dispose() {} } as Disposable);
  }

  /** Stop for good. */
  dispose(): Promise<void> {
    const stopped = this.stop();
    this.#changed.dispose();
    return stopped;
  }

  async #running(): Promise<Session> {
    // One that is installed meanwhile is found; what keeps ending is not begun anew by each call.
    if (this.#state === "failed" && !this.#problem?.isOnlyMissing) {
      throw new NotConnectedError(this.#problem?.message ?? "the server does not run");
    }
    await this.start();
    if (this.#session === undefined || this.#state !== "running") {
      throw new NotConnectedError("the server was stopped");
    }
    return this.#session;
  }

  /** Begin a run: sessions one after the other until one works, somebody stops it, or there is no sense in it. */
  #begin(delayMs = 0): void {
    const run = this.#run ?? new AbortController();
    this.#run = run;
    this.#starting = this.#untilRunning(run.signal, delayMs);
    // Whoever waits for it hears of it; nobody may do so.
    this.#starting.catch(() => {});
    this.#to("starting");
  }

  async #untilRunning(signal: AbortSignal, firstDelayMs: number): Promise<void> {
    let delayMs = firstDelayMs;
    for (;;) {
      await sleep(delayMs, signal);
      // Two processes at a time would both watch over the same documents.
      await this.#stopping;
      this.#throwIfOver(signal);
      const begun = Date.now();
      try {
        const session = await this.launch(this.#inbox, signal);
        if (signal.aborted) {
          await session.stop();
        }
        this.#throwIfOver(signal);
        this.#runs(session, signal, begun);
        return;
      } catch (error) {
        this.#throwIfOver(signal);
        delayMs = this.#failed(error, Date.now() - begun);
      }
    }
  }

  #throwIfOver(signal: AbortSignal): void {
    if (signal.aborted) {
      throw new NotConnectedError("the server was stopped");
    }
  }

  #runs(session: Session, signal: AbortSignal, begun: number): void {
    this.#session = session;
    this.#starting = undefined;
    this.#problem = undefined;
    this.log.info(`Running: ${session.facts.name} ${session.facts.version}, from ${session.facts.from}`);
    void session.ended.then((why) => {
      if (signal.aborted || this.#session !== session) {
        return;
      }
      this.#session = undefined;
      this.log.warn(`The server ended: ${why}`);
      try {
        this.#begin(this.#failed(why, Date.now() - begun));
      } catch {
        // It is told by the state.
      }
    });
    this.#to("running");
  }

  /** The delay until the next try. Throws where there is none. */
  #failed(error: unknown, ranForMs: number): number {
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof ServerProblem) {
      this.#giveUp(error);
    }
    const delayMs = this.#backoff.ended(ranForMs);
    if (delayMs === undefined) {
      this.#giveUp(keepsEnding(this.#backoff.ends, why));
    }
    this.#problem = ended(why);
    return delayMs;
  }

  #giveUp(problem: ServerProblem): never {
    this.log.error(problem.message);
    this.#problem = problem;
    this.#run = undefined;
    this.#starting = undefined;
    this.#to("failed");
    throw new NotConnectedError(problem.message);
  }

  #to(state: ServerState): void {
    if (this.#state !== state || state === "starting") {
      this.#state = state;
      this.#changed.fire(state);
    }
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0 || signal.aborted) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
