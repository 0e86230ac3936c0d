import { awayStatuses } from "../../journal/assertCustody.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import type { FullRetentionPolicy } from "../config/RetentionPolicy.ts";

export interface RetainableCheckpoint {
  readonly version: number;
  readonly exempt: boolean;
  readonly goesFirst?: boolean;
}

export interface RetainableAgent {
  readonly status: string;
  readonly lastTime: number;
  readonly checkpoints: readonly RetainableCheckpoint[];
}

export type RetentionPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "drop" }
  | { readonly kind: "prune"; readonly kept: ReadonlySet<number> };

const dayMs = 24 * 60 * 60 * 1000;
const factor = 5;

export function planRetention(agent: RetainableAgent, policy: FullRetentionPolicy, now: number): RetentionPlan {
  const { status, lastTime, checkpoints } = agent;
  if (status === "queued") return { kind: "keep" };
  const days = daysFor(status, policy);
  if (now - lastTime >= days * dayMs) return { kind: "drop" };
  const countable = checkpoints.filter(({ exempt }) => !exempt);
  const atMost = mostFor(status, policy);
  if (countable.length <= atMost) return { kind: "keep" };
  const staying = countable.filter(({ goesFirst }) => !goesFirst).map(({ version }) => version);
  const kept = staying.length <= atMost ? new Set(staying) : thinned(staying, atMost);
  for (const { version, exempt } of checkpoints) if (exempt) kept.add(version);
  return { kind: "prune", kept };
}

/**
 * Returns whether, by its summary, an agent may need pruning. `false` can be wrong only for agents that cannot run in
 * this storage. The summary of an agent in progress does not count its newest checkpoints.
 */
export function mayBeDue(
  { status, updatedAt, checkpoints }: Pick<AgentSummary, "status" | "updatedAt" | "checkpoints">,
  policy: FullRetentionPolicy,
  now: number,
): boolean {
  if (status === "queued" || awayStatuses.has(status)) return false;
  if (checkpoints === undefined || !counted.has(status)) return true;
  return now - Date.parse(updatedAt) >= daysFor(status, policy) * dayMs || checkpoints > mostFor(status, policy);
}

const counted: ReadonlySet<string> = new Set(["queued", "paused", "waiting", "completed", "failed", "cancelled"]);

function mostFor(status: string, { maxCheckpoints, maxCheckpointsPaused }: FullRetentionPolicy): number {
  return status === "paused" || status === "waiting" ? maxCheckpointsPaused : maxCheckpoints;
}

function daysFor(status: string, { completedDays, failedDays }: FullRetentionPolicy): number {
  if (status === "completed" || status === "cancelled") return completedDays;
  return status === "failed" ? failedDays : Number.POSITIVE_INFINITY;
}

/** Selects by version and not by index, so that a second pruning deletes no further checkpoints. */
function thinned(versions: readonly number[], atMost: number): Set<number> {
  const [first, last] = [versions[0], versions.at(-1)];
  for (let step = factor; ; step *= factor) {
    const kept = new Set(versions.filter((version) => version === first || version === last || version % step === 0));
    if (kept.size <= Math.max(2, atMost)) return kept;
  }
}
