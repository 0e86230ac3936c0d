/** What a saver takes to read, in milliseconds of CPU. */
export interface ReadFigures {
  /** The history of a graph of 303 checkpoints, whose state has a message more in each. */
  readonly historyMs: number;
  /** The latest checkpoint, with 3,000 messages, by the saver that wrote it. */
  readonly latestMs: number;
  /** The same by a new saver; absent for what is in memory. */
  readonly newLatestMs?: number;
  /** The newest 100 of 3,000 checkpoints, each with one value. */
  readonly listMs: number;
}

/** The appends of one superstep of a graph, with `durability: "sync"`. */
export interface GraphAppends {
  readonly full: number;
  readonly delta: number;
}
