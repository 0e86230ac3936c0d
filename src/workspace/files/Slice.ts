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

  /** Waits for a new slice if this slice is over. If others wait too, their work counts in the same slice. */
  async turn(): Promise<void> {
    while (this.isOver) await (this.#next ??= this.#startNext());
  }

  async #startNext(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
    this.#next = undefined;
  }
}
