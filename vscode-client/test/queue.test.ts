import { beforeEach, describe, expect, test, vi } from "vitest";
import { DialogQueue, type Settle } from "../src/dialogs/queue";

interface Spy {
  readonly events: string[];
  settle: Settle<string>;
}

class Token {
  isCancellationRequested = false;
  #listeners = new Set<() => unknown>();
  onCancellationRequested = (listener: () => unknown) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  cancel(): void {
    this.isCancellationRequested = true;
    for (const listener of [...this.#listeners]) {
      listener();
    }
  }
  get count(): number {
    return this.#listeners.size;
  }
}

let events: string[];
let queue: DialogQueue;
let changed: ReturnType<typeof vi.fn<() => void>>;

function ask(id: string, token?: Token): { answer: Promise<string>; spy: Spy } {
  const spy: Spy = { events, settle: () => false };
  const answer = queue.ask(id, "dismissed", token, (settle) => {
    spy.settle = settle;
    return {
      title: id,
      open: () => events.push(`open ${id}`),
      close: () => events.push(`close ${id}`),
      focus: () => events.push(`focus ${id}`),
    };
  });
  return { answer, spy };
}

beforeEach(() => {
  events = [];
  changed = vi.fn<() => void>();
  queue = new DialogQueue(changed);
});

describe("dialogs", () => {
  test("are shown one at a time, in the order in which they came", async () => {
    const [one, two] = [ask("1"), ask("2")];
    expect(events).toEqual(["open 1"]);
    expect(queue.titles).toEqual(["1", "2"]);
    one.spy.settle("yes");
    expect(await one.answer).toBe("yes");
    expect(events).toEqual(["open 1", "close 1", "open 2"]);
    two.spy.settle("no");
    expect(await two.answer).toBe("no");
    expect(queue.titles).toEqual([]);
    expect(changed).toHaveBeenCalled();
  });

  test("take the first answer alone: a late one does no harm", async () => {
    const { answer, spy } = ask("1");
    expect(spy.settle("yes")).toBe(true);
    expect(spy.settle("no")).toBe(false);
    expect(await answer).toBe("yes");
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test("that are withdrawn close without an answer", async () => {
    const { answer, spy } = ask("1");
    queue.withdraw("1");
    expect(await answer).toBe("dismissed");
    expect(spy.settle("yes")).toBe(false);
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test("that are withdrawn while they wait are never shown", async () => {
    const [one, two] = [ask("1"), ask("2")];
    queue.withdraw("2");
    expect(await two.answer).toBe("dismissed");
    one.spy.settle("yes");
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test("that were withdrawn before they were begun are not shown, once", async () => {
    queue.withdraw("1");
    expect(await ask("1").answer).toBe("dismissed");
    expect(events).toEqual([]);
    ask("1");
    expect(events).toEqual(["open 1"]);
  });

  test("are not waited for after a cancellation, and listen to it no longer", async () => {
    const token = new Token();
    const { answer } = ask("1", token);
    token.cancel();
    expect(await answer).toBe("dismissed");
    expect(token.count).toBe(0);
    expect(await ask("2", token).answer).toBe("dismissed");
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test("are all closed when the server is gone, without showing those that wait", async () => {
    const answers = [ask("1"), ask("2"), ask("3")].map(({ answer }) => answer);
    queue.dismissAll();
    expect(await Promise.all(answers)).toEqual(["dismissed", "dismissed", "dismissed"]);
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test("that cannot be shown fail, and the next one is shown", async () => {
    const broken = queue.ask("0", "dismissed", undefined, () => ({
      title: "0",
      open: () => {
        throw new Error("no screen");
      },
      close: () => events.push("close 0"),
      focus: () => undefined,
    }));
    ask("1");
    await expect(broken).rejects.toThrow("no screen");
    expect(events).toEqual(["close 0", "open 1"]);
  });

  test("are gone to only where there is one", () => {
    expect(queue.focus()).toBe(false);
    ask("1");
    expect(queue.focus()).toBe(true);
    expect(events).toEqual(["open 1", "focus 1"]);
  });
});
