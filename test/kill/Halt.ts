import type { WorkerLine } from "./WorkerLine.ts";

type Place = Extract<WorkerLine, { readonly said: "halted" }>["place"];

/** Lets the worker stand still at one of the places it passes, so that it is killed exactly there. */
export class Halt {
  readonly #at: number | undefined;
  readonly #say: (line: WorkerLine) => void;
  #passed = 0;

  /** @param at the number of the place; absent: none. */
  constructor(at: number | undefined, say: (line: WorkerLine) => void) {
    this.#at = at;
    this.#say = say;
  }

  async at(place: Place, call?: string): Promise<void> {
    if (++this.#passed !== this.#at) return;
    this.#say({ said: "halted", place, ...(call !== undefined && { call }) });
    // The timer keeps the process alive until somebody kills it.
    await new Promise(() => setInterval(() => {}, 60_000));
  }
}
