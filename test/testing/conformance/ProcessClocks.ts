import { SimulatedClock } from "../../../src/testing.ts";

/** The clocks of the processes in one test. Time passes for all that are awake. */
export class ProcessClocks {
  readonly #awake = new Set<SimulatedClock>();

  /** The clock of a process that begins now. */
  start(): SimulatedClock {
    const clock = new SimulatedClock();
    this.#awake.add(clock);
    return clock;
  }

  advance(ms: number): void {
    for (const clock of this.#awake) clock.advance(ms);
  }

  /** Stops all processes that there are: what they would do by their clocks, they do no more. */
  stopAll(): void {
    this.#awake.clear();
  }
}
