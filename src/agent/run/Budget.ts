import { IterationLimitError } from "../../errors/agent/IterationLimitError.ts";

/** How many nodes the lines of one agent may visit together. */
export class Budget {
  readonly #most: number;
  /** The nodes that its lines have completed, as the run counts them: a move takes back what came after its target. */
  #completed = 0;
  #visits = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** A line completed this many nodes more, or fewer after a move. */
  add(completed: number): void {
    this.#completed += completed;
  }

  /** A visit begins. @throws IterationLimitError when the lines have visited as many nodes as they may. */
  take(nodeId: string): void {
    // A move restores an earlier count, so endless moves are found only by counting visits as well.
    if (Math.max(this.#completed, this.#visits) >= this.#most) throw new IterationLimitError(this.#most, nodeId);
    this.#visits++;
  }
}
