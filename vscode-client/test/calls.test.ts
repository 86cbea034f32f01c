import { beforeEach, describe, expect, it } from "vitest";
import type { CancellationToken, Disposable } from "vscode";
import { type FinishedCall, type RunningCall, ServerCalls } from "../src/calls";
import { type Connection, NotConnectedError, RequestCancelledError, type ServerState } from "../src/connection";
import { Emitter } from "../src/events";
import { TOOLS_CHANGED } from "../src/protocol";

class FakeConnection implements Connection {
  readonly state = "running";
  readonly problem = undefined;
  readonly server = undefined;
  readonly changed = new Emitter<ServerState>();
  readonly onDidChangeState = this.changed.event;
  readonly asked: [string, unknown][] = [];
  readonly progress = new Map<string, (value: unknown) => void>();
  readonly listeners = new Map<string, (params: unknown) => void>();
  answer: (params: unknown, token?: CancellationToken) => Promise<unknown> = async () => ({
    name: "T",
    isError: false,
  });
  startFails: Error | undefined;

  async start() {
    if (this.startFails !== undefined) {
      throw this.startFails;
    }
  }
  async stop() {}
  async restart() {}
  async request<R>(method: string, params: unknown, token?: CancellationToken) {
    this.asked.push([method, params]);
    return (await this.answer(params, token)) as R;
  }
  notify() {}
  handle() {
    return { dispose() {} } as Disposable;
  }
  listen<P>(method: string, listener: (params: P) => void) {
    this.listeners.set(method, listener as (params: unknown) => void);
    return { dispose() {} } as Disposable;
  }
  watchProgress(token: string, listener: (value: unknown) => void) {
    this.progress.set(token, listener);
    return { dispose: () => this.progress.delete(token) } as Disposable;
  }
}

let connection: FakeConnection;
let calls: ServerCalls;
let started: RunningCall[];
let finished: FinishedCall[];

beforeEach(() => {
  connection = new FakeConnection();
  calls = new ServerCalls(connection);
  started = [];
  finished = [];
  calls.onDidStartCall((call) => started.push(call));
  calls.onDidFinishCall((call) => finished.push(call));
});

describe("a call", () => {
  it("is sent with its arguments and told when it ends", async () => {
    connection.answer = async () => ({ name: "Read", isError: false, data: { success: true } });
    expect(await calls.call("Read", { filePath: "a" })).toMatchObject({ data: { success: true } });
    expect(connection.asked).toEqual([
      ["openbuffer/callTool", { name: "Read", arguments: { filePath: "a" }, workDoneToken: "openbuffer-call-1" }],
    ]);
    expect(finished).toMatchObject([{ id: 1, tool: "Read", failure: undefined }]);
    expect(calls.running).toEqual([]);
  });

  it("tells its progress, until it ends", async () => {
    const told: unknown[] = [];
    connection.answer = async () => {
      const report = connection.progress.get("openbuffer-call-1");
      report?.({ kind: "begin", title: "Shell" });
      report?.({ kind: "report", message: "half of it", percentage: 50 });
      report?.({ kind: "end" });
      report?.("nonsense");
      return { name: "Shell", isError: false };
    };
    await calls.call("Shell", {}, { progress: (progress) => told.push(progress) });
    expect(told).toEqual([
      { message: "Shell", percentage: undefined },
      { message: "half of it", percentage: 50 },
    ]);
    expect(started[0]?.lastProgress).toEqual(told[1]);
    expect(connection.progress.size).toBe(0);
  });

  it.each(["by its own cancel", "by the caller's token"])("is cancelled %s", async (how) => {
    const outer = new Emitter<void>();
    const token = { isCancellationRequested: false, onCancellationRequested: outer.event };
    connection.answer = (_, inner) =>
      new Promise((_resolve, reject) => {
        inner?.onCancellationRequested(() => reject(new RequestCancelledError("cancelled")));
      });
    const outcome = calls.call("Shell", {}, { token }).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 0));
    how === "by its own cancel" ? started[0]?.cancel() : outer.fire();
    expect(await outcome).toBeInstanceOf(RequestCancelledError);
    expect(finished[0]?.failure).toBeInstanceOf(RequestCancelledError);
  });

  it("that was cancelled before it began is not sent", async () => {
    const token = { isCancellationRequested: true, onCancellationRequested: new Emitter<void>().event };
    await expect(calls.call("Shell", {}, { token })).rejects.toThrow(RequestCancelledError);
    expect(connection.asked).toEqual([]);
    expect(finished).toHaveLength(1);
  });

  it("is cancelled also while the server starts", async () => {
    connection.start = () => new Promise(() => {});
    const outcome = calls.call("Read", {}).catch((error: unknown) => error);
    started[0]?.cancel();
    expect(await outcome).toBeInstanceOf(RequestCancelledError);
    expect(connection.asked).toEqual([]);
  });

  it("without a server fails as that, and is told", async () => {
    connection.startFails = new NotConnectedError("there is none");
    await expect(calls.call("Read", {})).rejects.toThrow("there is none");
    expect(finished[0]?.failure).toBeInstanceOf(NotConnectedError);
  });

  it("goes on when a listener fails", async () => {
    const errors: unknown[] = [];
    const watched = new ServerCalls(connection, (error) => errors.push(error));
    watched.onDidStartCall(() => {
      throw new Error("of a view");
    });
    expect(await watched.call("Read", {})).toMatchObject({ isError: false });
    expect(errors).toHaveLength(1);
  });
});

describe("the tools", () => {
  const listed = (name: string) => async () => ({ tools: [{ name }], withheld: { tools: ["Shell"], reason: "why" } });

  it("are asked for once", async () => {
    connection.answer = listed("Read");
    expect(await calls.tools()).toEqual([{ name: "Read" }]);
    await calls.tools();
    expect(connection.asked).toHaveLength(1);
    expect(calls.withheld).toEqual({ tools: ["Shell"], reason: "why" });
  });

  it("are asked for anew when there are others, which is told", async () => {
    let times = 0;
    calls.onDidChangeTools(() => {
      times += 1;
    });
    connection.answer = listed("Read");
    await calls.tools();
    connection.answer = listed("Write");
    connection.listeners.get(TOOLS_CHANGED)?.({});
    expect(await calls.tools()).toEqual([{ name: "Write" }]);
    connection.answer = async () => ({ name: "ToolSearch", isError: false, toolsChanged: true });
    await calls.call("ToolSearch", {});
    connection.changed.fire("running");
    expect(times).toBe(3);
  });

  it("are asked for again after that failed", async () => {
    connection.answer = async () => Promise.reject(new NotConnectedError("no"));
    await expect(calls.tools()).rejects.toThrow("no");
    connection.answer = listed("Read");
    expect(await calls.tools()).toEqual([{ name: "Read" }]);
  });
});
