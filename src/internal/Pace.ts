import { nextTurn } from "./nextTurn.ts";

/** How much is done in one piece: what takes a few milliseconds to read, in bytes of JSON. */
const piece = 256 * 1024;

/** Lets the event loop go on now and then in long work. */
export class Pace {
  #left = piece;

  /** Call it after each part of the work. Resolves at once, or in the next turn of the event loop. */
  async after(bytes: number): Promise<void> {
    this.#left -= bytes;
    if (this.#left > 0) return;
    this.#left = piece;
    await nextTurn();
  }
}
