/** How long to wait until an ended server is started again, and when to give up. Pure. */

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 15_000;
/** So long a run shows that the server works, and what came before it does not count any more. */
const HEALTHY_MS = 60_000;
const MOST_ENDS = 6;

export class Backoff {
  #ends = 0;

  /** How often it ended without having run for long. */
  get ends(): number {
    return this.#ends;
  }

  /** The delay before the next start, in milliseconds; undefined: enough of it. */
  ended(ranForMs: number): number | undefined {
    this.#ends = ranForMs >= HEALTHY_MS ? 1 : this.#ends + 1;
    if (this.#ends >= MOST_ENDS) {
      return undefined;
    }
    return Math.min(FIRST_DELAY_MS * 2 ** (this.#ends - 1), LONGEST_DELAY_MS);
  }

  reset(): void {
    this.#ends = 0;
  }
}
