import { IterationLimitError } from "../../errors/strategyErrors.ts";

/** The limit on node visits that all lines of one agent share. */
export class Budget {
  readonly #most: number;
  /** The number of completed nodes. A move subtracts the nodes after its target. */
  #completed = 0;
  #visits = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(completed: number): void {
    this.#completed += completed;
  }

  take(nodeId: string): void {
    // A move restores an earlier count of completed nodes, so only the count of visits detects endless moves.
    if (Math.max(this.#completed, this.#visits) >= this.#most) throw new IterationLimitError(this.#most, nodeId);
    this.#visits++;
  }
}
