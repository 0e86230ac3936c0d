import { nextTurn } from "../../internal/nextTurn.ts";

/** The time after which the event loop gets a turn. */
const longestMs = 10;

/** A slice of synchronous work. Other work of the process gets a turn after each slice. */
export class Slice {
  #began = performance.now();
  #next: Promise<void> | undefined;

  get isOver(): boolean {
    return performance.now() - this.#began >= longestMs;
  }

  /**
   * Starts a new slice in the next turn of the event loop. Call this method as long as `isOver`, because other waiting
   * work may end the new slice at once.
   */
  turn(): Promise<void> {
    return (this.#next ??= this.#startNext());
  }

  async #startNext(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
    this.#next = undefined;
  }
}

/** Work in steps of a few milliseconds, followed by a result. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps. Gives other work of the process a turn after each slice of a few milliseconds. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (const slice = new Slice(); ;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (slice.isOver) await slice.turn();
  }
}
