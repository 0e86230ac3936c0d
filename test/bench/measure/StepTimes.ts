/**
 * The price of a step: what passes between the end of one node and the start of the next. Storage, framework and
 * everything else that stands between two nodes is in it; what the node does itself is not.
 */
export class StepTimes {
  readonly saves: number[] = [];
  #left = performance.now();

  /** A node starts. */
  enter(): void {
    this.saves.push(performance.now() - this.#left);
  }

  /** A node, or what comes before the first one, ends. */
  leave(): void {
    this.#left = performance.now();
  }
}
