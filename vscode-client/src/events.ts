/** An event as the editor has them, for modules that are tried without it. */
import type { Disposable, Event } from "vscode";

export class Emitter<T> {
  readonly #listeners = new Set<(value: T) => unknown>();

  readonly event: Event<T> = (listener, thisArgs, disposables) => {
    const bound = (value: T) => listener.call(thisArgs, value);
    this.#listeners.add(bound);
    const disposable = { dispose: () => this.#listeners.delete(bound) } as Disposable;
    disposables?.push(disposable);
    return disposable;
  };

  /** One listener's error does not keep the others from being told; it goes to `onError`. */
  constructor(private readonly onError: (error: unknown) => void = () => {}) {}

  fire(value: T): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(value);
      } catch (error) {
        this.onError(error);
      }
    }
  }

  dispose(): void {
    this.#listeners.clear();
  }
}
