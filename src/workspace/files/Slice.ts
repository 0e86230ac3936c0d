import { nextTurn } from "../../internal/nextTurn.ts";

/** The time after which the event loop gets a turn. */
const longestMs = 10;

/** A slice of synchronous work. Other work of the process gets a turn after each slice. */
export class Slice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= longestMs;
  }

  /** Starts a new slice in the next turn of the event loop. */
  async end(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
  }
}
