import { nextTurn } from "./nextTurn.ts";

/** The amount of work between two pauses, as bytes of JSON. Reading them takes a few milliseconds. */
const piece = 256 * 1024;

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
