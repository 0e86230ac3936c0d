/** What is thrown away, and when. Agents that are queued, paused or waiting are never touched. */
export interface RetentionPolicy {
  /** A completed or cancelled agent is dropped whole so many days after its end. Default 7; `Infinity`: never. */
  readonly completedDays?: number | undefined;
  /** An agent that has failed is dropped whole so many days afterwards. Default 30; `Infinity`: never. */
  readonly failedDays?: number | undefined;
  /**
   * Above this number of checkpoints only the first, the last and every 5th are kept; where those are still too many every
   * 25th, then 125th. Ends of runs, checkpoints with a given id and those that a line begins from are kept beside them.
   * Default 20; `Infinity`: all.
   */
  readonly maxCheckpoints?: number | undefined;
}

/** A policy with nothing left open. */
export type FullRetentionPolicy = { readonly [Name in keyof RetentionPolicy]-?: number };

/** What holds where a policy says nothing. */
export const defaultRetention: FullRetentionPolicy = { completedDays: 7, failedDays: 30, maxCheckpoints: 20 };

/** The policy with its defaults. @throws TypeError when a number cannot be meant. */
export function fullRetention(policy: RetentionPolicy = {}): FullRetentionPolicy {
  const {
    completedDays = defaultRetention.completedDays,
    failedDays = defaultRetention.failedDays,
    maxCheckpoints = defaultRetention.maxCheckpoints,
  } = policy;
  const full = { completedDays, failedDays, maxCheckpoints };
  for (const [name, value] of Object.entries(full)) {
    const least = name === "maxCheckpoints" ? 2 : 0;
    if (typeof value !== "number" || !(value >= least))
      throw new TypeError(`${name} of a retention policy is ${String(value)}; a number from ${least} on was expected.`);
  }
  return full;
}
