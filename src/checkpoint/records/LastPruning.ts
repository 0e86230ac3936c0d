/** The latest checkpoint when a log was pruned, and how many were kept. */
export type LastPruning = readonly [version: number, kept: number];
