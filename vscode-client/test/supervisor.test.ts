import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NotConnectedError, type ServerState } from "../src/connection";
import { ServerProblem } from "../src/server/problems";
import type { Inbox, Session } from "../src/server/session";
import { Supervisor } from "../src/server/supervisor";

const QUIET = { info() {}, warn() {}, error() {} };

/** A run of a server whose end the test decides. */
class FakeSession implements Session {
  readonly facts = { name: "fake", version: "1", protocolVersion: 1, from: "a test", command: ["fake"], processId: 1 };
  readonly ended: Promise<string>;
  readonly handled: string[] = [];
  isStopped = false;
  end: (why: string) => void = () => {};
  answer: (method: string, params: unknown) => Promise<unknown> = async (method) => `answer to ${method}`;

  constructor(readonly inbox: Inbox) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  request(method: string, params: unknown) {
    return this.answer(method, params);
  }
  notify() {}
  handle(method: string) {
    this.handled.push(method);
  }
  listen(method: string) {
    this.handled.push(method);
  }
  progress() {
    return { dispose() {} };
  }
  async stop() {
    this.isStopped = true;
    this.end("stopped");
  }
}

function supervised(fail: () => Error | undefined = () => undefined) {
  const sessions: FakeSession[] = [];
  const supervisor = new Supervisor(async (inbox) => {
    const error = fail();
    if (error !== undefined) {
      throw error;
    }
    const session = new FakeSession(inbox);
    sessions.push(session);
    return session;
  }, QUIET);
  const states: ServerState[] = [];
  supervisor.onDidChangeState((state) => states.push(state));
  return { supervisor, sessions, states };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a server that works", () => {
  it("is started once, however many ask for it", async () => {
    const { supervisor, sessions, states } = supervised();
    await Promise.all([supervisor.start(), supervisor.start(), supervisor.request("a", {})]);
    expect(sessions).toHaveLength(1);
    expect(states).toEqual(["starting", "running"]);
    expect(supervisor.server?.name).toBe("fake");
  });

  it("is started by the first request", async () => {
    const { supervisor } = supervised();
    expect(await supervisor.request("openbuffer/listTools", undefined)).toBe("answer to openbuffer/listTools");
  });

  it("has handlers that were registered before and after the start", async () => {
    const { supervisor, sessions } = supervised();
    supervisor.handle("early", async () => 1);
    await supervisor.start();
    supervisor.handle("late", async () => 2);
    expect([...(sessions[0]?.inbox.requests.keys() ?? [])]).toEqual(["early", "late"]);
    expect(sessions[0]?.handled).toEqual(["late"]);
  });

  it("tells every listener, and none that was disposed of", async () => {
    const { supervisor, sessions } = supervised();
    const heard: unknown[] = [];
    supervisor.listen("told", (params) => heard.push(["one", params]));
    const other = supervisor.listen("told", (params) => heard.push(["other", params]));
    await supervisor.start();
    sessions[0]?.inbox.notified("told", 1);
    other.dispose();
    sessions[0]?.inbox.notified("told", 2);
    expect(heard).toEqual([
      ["one", 1],
      ["other", 1],
      ["one", 2],
    ]);
  });

  it("takes no second handler of a method", () => {
    const { supervisor } = supervised();
    const first = supervisor.handle("m", async () => 1);
    expect(() => supervisor.handle("m", async () => 2)).toThrow(/has a handler already/);
    first.dispose();
    expect(() => supervisor.handle("m", async () => 2)).not.toThrow();
  });
});

describe("a server that ends", () => {
  it("comes back, and what waits for it goes on with the new one", async () => {
    const { supervisor, sessions, states } = supervised();
    await supervisor.start();
    sessions[0]?.end("signal SIGKILL");
    await vi.advanceTimersByTimeAsync(0);
    expect(supervisor.state).toBe("starting");
    expect(supervisor.problem?.message).toContain("SIGKILL");
    const answer = supervisor.request("again", {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await answer).toBe("answer to again");
    expect(sessions).toHaveLength(2);
    expect(states).toEqual(["starting", "running", "starting", "running"]);
    expect(supervisor.problem).toBeUndefined();
  });

  it("is given up after it ended again and again, and says why", async () => {
    const { supervisor, sessions } = supervised();
    await supervisor.start();
    for (let number = 0; number < 10 && supervisor.state !== "failed"; number++) {
      sessions.at(-1)?.end("exit code 3. It said: no module");
      await vi.advanceTimersByTimeAsync(20_000);
    }
    expect(supervisor.state).toBe("failed");
    expect(sessions.length).toBeLessThan(8);
    expect(supervisor.problem?.message).toMatch(/ended \d times in a row.*no module/s);
    expect(supervisor.problem?.actions.map(({ command }) => command)).toContain("openbuffer.restartServer");
    await expect(supervisor.request("a", {})).rejects.toThrow(NotConnectedError);
  });

  it("is not given up where each run lasted", async () => {
    const { supervisor, sessions } = supervised();
    await supervisor.start();
    for (let number = 0; number < 20; number++) {
      await vi.advanceTimersByTimeAsync(120_000);
      sessions.at(-1)?.end("exit code 1");
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(supervisor.state).toBe("running");
    expect(sessions).toHaveLength(21);
  });

  it("is not started again after it was stopped", async () => {
    const { supervisor, sessions, states } = supervised();
    await supervisor.start();
    await supervisor.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sessions).toHaveLength(1);
    expect(sessions[0]?.isStopped).toBe(true);
    expect(states).toEqual(["starting", "running", "stopped"]);
  });

  it("is not started again when it is stopped while the next start is waited for", async () => {
    const { supervisor, sessions } = supervised();
    await supervisor.start();
    sessions[0]?.end("exit code 1");
    await vi.advanceTimersByTimeAsync(10);
    const waiting = supervisor.request("a", {}).catch((error: unknown) => error);
    await supervisor.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await waiting).toBeInstanceOf(NotConnectedError);
    expect(sessions).toHaveLength(1);
    expect(supervisor.state).toBe("stopped");
  });

  it("can be started by hand after it was given up", async () => {
    let isBroken = true;
    const { supervisor } = supervised(() => (isBroken ? new ServerProblem("there is none", []) : undefined));
    await expect(supervisor.start()).rejects.toThrow("there is none");
    expect(supervisor.state).toBe("failed");
    isBroken = false;
    await supervisor.restart();
    expect(supervisor.state).toBe("running");
    expect(supervisor.problem).toBeUndefined();
  });
});

describe("a start that fails", () => {
  it("is not tried again where that is of no use", async () => {
    let tries = 0;
    const { supervisor, states } = supervised(() => {
      tries += 1;
      return new ServerProblem("it was not found", [{ title: "Install", command: "install" }]);
    });
    await expect(supervisor.start()).rejects.toThrow("it was not found");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(tries).toBe(1);
    expect(states).toEqual(["starting", "failed"]);
    expect(supervisor.problem?.actions[0]?.title).toBe("Install");
  });

  it("for want of a server is tried again by the next request", async () => {
    let isThere = false;
    const { supervisor } = supervised(() => (isThere ? undefined : new ServerProblem("not found", [], true)));
    await expect(supervisor.request("a", {})).rejects.toThrow("not found");
    isThere = true;
    expect(await supervisor.request("a", {})).toBe("answer to a");
  });

  it("is tried again where it may be", async () => {
    let tries = 0;
    const { supervisor } = supervised(() => {
      tries += 1;
      return tries < 3 ? new Error("exit code 1") : undefined;
    });
    const started = supervisor.start();
    await vi.advanceTimersByTimeAsync(5_000);
    await started;
    expect(tries).toBe(3);
  });

  it("ends a session that came up after it was stopped", async () => {
    const sessions: FakeSession[] = [];
    let goOn: () => void = () => {};
    const supervisor = new Supervisor(async (inbox) => {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const session = new FakeSession(inbox);
      sessions.push(session);
      return session;
    }, QUIET);
    const started = supervisor.start().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(0);
    await supervisor.stop();
    goOn();
    expect(await started).toBeInstanceOf(NotConnectedError);
    await vi.advanceTimersByTimeAsync(0);
    expect(sessions[0]?.isStopped).toBe(true);
    expect(supervisor.state).toBe("stopped");
  });
});
