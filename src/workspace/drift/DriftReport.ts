import type { DriftSeverity } from "./driftSeverity.ts";

/** How a repository stands to what others have done. Nothing was changed to find out. */
export interface DriftReport {
  /** The commit that is checked out; absent when there is none yet. */
  readonly head?: string;
  /** The ref that counts as upstream, such as `refs/remotes/origin/main`. */
  readonly upstream: string;
  /** The commit it stands for, as it was last fetched; absent when there is no such ref. */
  readonly upstreamHead?: string;
  /** When somebody last fetched, ISO 8601; absent when that is not known. */
  readonly fetchedAt?: string;
  /** Commits of the upstream that are not in `head`. */
  readonly commitsBehind: number;
  /** The upstream head that was known before is not in the upstream's history any more, or both have no common history. */
  readonly rewritten: boolean;
  /** Files that differ from `head` and that the workspace did not leave so. Not looked for when nothing is checked out. */
  readonly localFiles: readonly string[];
  /** Files that the upstream has changed since both had the same. */
  readonly upstreamFiles: readonly string[];
  /** Files that both sides have changed since then. */
  readonly conflictingFiles: readonly string[];
  /** How much it matters: by which files, and which regions of them, both sides have changed. */
  readonly severity: DriftSeverity;
}
