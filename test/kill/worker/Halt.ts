import type { WorkerLine } from "./WorkerLine.ts";
import type { Place, WorkerOptions } from "./WorkerOptions.ts";

/** The call that passes a place. */
export interface PassingCall {
  readonly tool: string;
  readonly call: string;
}

/** Longer than any test waits; a process that nobody kills ends after all. */
const longestBlockMs = 300_000;

/** Lets the worker stand still at one of the places it passes, so that it is killed exactly there. */
export class Halt {
  readonly #at: WorkerOptions["haltAt"];
  readonly #say: (line: WorkerLine) => void;
  #passed = 0;

  constructor(at: WorkerOptions["haltAt"], say: (line: WorkerLine) => void) {
    this.#at = at;
    this.#say = say;
  }

  async pass(place: Place, passing?: PassingCall): Promise<void> {
    if (!this.#isMeant(place, passing) || ++this.#passed !== this.#at?.number) return;
    const goesOn = continued();
    this.#say({ said: "halted", place, ...passing });
    if (this.#at.dies) process.kill(process.pid, "SIGKILL");
    await goesOn;
  }

  /** The same for a place that cannot wait: all of the process stands still, until it is killed. */
  block(place: Place, passing: PassingCall): void {
    if (!this.#isMeant(place, passing) || ++this.#passed !== this.#at?.number) return;
    this.#say({ said: "halted", place, ...passing });
    if (this.#at.dies) process.kill(process.pid, "SIGKILL");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, longestBlockMs);
  }

  #isMeant(place: Place, passing: PassingCall | undefined): boolean {
    const { place: wanted = place, tool = passing?.tool } = this.#at ?? {};
    return wanted === place && tool === passing?.tool;
  }
}

/** Resolves when the process is told to go on. The timer keeps it alive meanwhile. */
async function continued(): Promise<void> {
  const timer = setInterval(() => {}, 60_000);
  await new Promise((resolve) => process.once("SIGCONT", resolve));
  clearInterval(timer);
}
