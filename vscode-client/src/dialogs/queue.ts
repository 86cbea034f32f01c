/**
 * What waits for an answer of the user: one dialog is shown at a time, the others wait behind it. Each has exactly one
 * end: an answer, that it was closed, or that the server took it back. What comes after that changes nothing.
 */

/** How one dialog is shown; `close` may come at any time, also before `open` has done all that it does. */
export interface Shown {
  /** For the status bar and the list of what waits. */
  readonly title: string;
  open(): void;
  /** Take it from the screen. It is not open any more, or never was. */
  close(): void;
  /** Put the user into it. */
  focus(): void;
}

/** Gives the answer. Only the first one counts; false where the dialog was over already. */
export type Settle<R> = (answer: R) => boolean;

export interface Cancellation {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => unknown): { dispose(): unknown };
}

const WITHDRAWN_KEPT_MS = 60_000;

/** What cannot be shown has no answer: the request fails with this. */
export type Fail = (error: unknown) => void;

interface Waiting {
  readonly id: string;
  readonly shown: Shown;
  readonly dismiss: () => void;
  readonly fail: Fail;
}

export class DialogQueue {
  readonly #waiting: Waiting[] = [];
  readonly #withdrawn = new Map<string, NodeJS.Timeout>();
  #open: Waiting | undefined;

  /** `changed` is called whenever there is another dialog in front, or another number of them. */
  constructor(private readonly changed: () => void = () => undefined) {}

  /** The titles of all that wait, the one that is shown first. */
  get titles(): readonly string[] {
    return this.#waiting.map((waiting) => waiting.shown.title);
  }

  /**
   * Show a dialog when its turn comes, and wait for its answer.
   *
   * @param dismissed the answer where it is closed without one, cancelled or withdrawn.
   */
  ask<R>(
    id: string,
    dismissed: R,
    token: Cancellation | undefined,
    make: (settle: Settle<R>, fail: Fail) => Shown,
  ): Promise<R> {
    if (this.#forget(id) || token?.isCancellationRequested) {
      return Promise.resolve(dismissed);
    }
    return new Promise<R>((resolve, reject) => {
      let isOver = false;
      let cancelling: { dispose(): unknown } | undefined;
      const end = (how: () => void) => {
        if (isOver) {
          return false;
        }
        isOver = true;
        cancelling?.dispose();
        this.#remove(waiting);
        how();
        return true;
      };
      const settle: Settle<R> = (answer) => end(() => resolve(answer));
      const fail: Fail = (error) => void end(() => reject(error));
      const dismiss = () => void settle(dismissed);
      const waiting: Waiting = { id, shown: make(settle, fail), dismiss, fail };
      this.#waiting.push(waiting);
      cancelling = token?.onCancellationRequested(dismiss);
      this.#refresh();
    });
  }

  /** The server takes a dialog back. One that is not there may be of a request that has not been begun yet. */
  withdraw(id: string): void {
    const found = this.#waiting.filter((waiting) => waiting.id === id);
    for (const waiting of found) {
      waiting.dismiss();
    }
    if (found.length === 0) {
      this.#forget(id);
      const timer = setTimeout(() => this.#withdrawn.delete(id), WITHDRAWN_KEPT_MS);
      timer.unref?.();
      this.#withdrawn.set(id, timer);
    }
  }

  /** Close all of them: whoever asked is gone. */
  dismissAll(): void {
    for (const waiting of [...this.#waiting].reverse()) {
      waiting.dismiss();
    }
  }

  /** Put the user into the dialog that is shown; false where there is none. */
  focus(): boolean {
    this.#open?.shown.focus();
    return this.#open !== undefined;
  }

  #remove(waiting: Waiting): void {
    const place = this.#waiting.indexOf(waiting);
    if (place >= 0) {
      this.#waiting.splice(place, 1);
    }
    if (this.#open === waiting) {
      this.#open = undefined;
      waiting.shown.close();
    }
    this.#refresh();
  }

  #refresh(): void {
    const first = this.#waiting[0];
    if (first && this.#open === undefined) {
      this.#open = first;
      try {
        first.shown.open();
      } catch (error) {
        first.fail(error);
      }
    }
    this.changed();
  }

  #forget(id: string): boolean {
    const timer = this.#withdrawn.get(id);
    clearTimeout(timer);
    return this.#withdrawn.delete(id);
  }
}
