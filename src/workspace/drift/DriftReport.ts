import type { DriftSeverity } from "./driftSeverity.ts";

/** How a work tree differs from its upstream. The check changes nothing. */
export interface DriftReport {
  /** The commit that is checked out; absent when there is no commit yet. */
  readonly head?: string;
  /** The ref of the upstream, such as `refs/remotes/origin/main`. */
  readonly upstream: string;
  /** Its commit, as last fetched; absent when there is no such ref. */
  readonly upstreamHead?: string;
  /** The time of the last fetch, ISO 8601; absent when it is not known. */
  readonly fetchedAt?: string;
  /** Commits of the upstream that are not in `head`. */
  readonly commitsBehind: number;
  /** The previously known upstream head is no longer in the history of the upstream, or the two have no common history. */
  readonly rewritten: boolean;
  /** Files that differ from `head` and were not left so by the workspace. Empty when nothing is checked out. */
  readonly localFiles: readonly string[];
  /** Files that the upstream changed since the last common commit. */
  readonly upstreamFiles: readonly string[];
  /** Files that both sides changed since then. */
  readonly conflictingFiles: readonly string[];
  /** How serious the drift is, by the files and regions that both sides changed. */
  readonly severity: DriftSeverity;
}
