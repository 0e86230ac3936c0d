import type { ReplayResult } from "../run/replayRecording.ts";
import type { RunTrace } from "../trace/RunTrace.ts";

/** A run of a selection with its replay. Either `result` or `error` is there. */
export interface ReplayedRun {
  readonly agentId: string;
  /** Omitted if the newest run was replayed. */
  readonly runId?: string;
  readonly result?: ReplayResult & { readonly trace?: RunTrace };
  /** The error of a run that could not be replayed. */
  readonly error?: unknown;
}

/** The sums of the replays so far. */
export interface ReplayReport {
  readonly replayed: number;
  readonly matching: number;
  readonly diverged: number;
  /** The number of runs that could not be replayed. */
  readonly failed: number;
  /** The tokens of live model requests. */
  readonly tokens: number;
  /** The numbers of first differences by node, most frequent first. */
  readonly divergences: readonly { readonly nodeId: string; readonly what: string; readonly count: number }[];
  /** Why the replays ended. `undefined` while they run. */
  readonly ended?: "all" | "budget" | "stopped";
}
