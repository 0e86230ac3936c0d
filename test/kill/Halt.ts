import type { WorkerLine } from "./WorkerLine.ts";
import type { Place, WorkerOptions } from "./WorkerOptions.ts";

/** The call that passes a place. */
export interface PassingCall {
  readonly tool: string;
  readonly call: string;
}

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
    this.#say({ said: "halted", place, ...(passing && { call: passing.call }) });
    if (this.#at.dies) process.kill(process.pid, "SIGKILL");
    await goesOn;
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
