import type { StatusRecord } from "../records/runRecords.ts";
import type { StatusState } from "./StatusState.ts";
import { statusPath } from "../status/statusPath.ts";
import type { TaskStatus } from "../status/TaskStatus.ts";

/**
 * The records that bring an agent to a status: one for each status that it passes on the way there, so that a log holds
 * no move but those of `STATE_TRANSITIONS`.
 */
export function statusRecords(life: StatusState, change: Omit<StatusRecord, "kind" | "run">): readonly StatusRecord[] {
  const { run } = life;
  if (!run) throw new TypeError(`There is no run that could become ${change.status}.`);
  return [...recordsBefore(life, change.status, change.at), { kind: "status", run: run.run, ...retryOf(life, change) }];
}

/** The records of the statuses on the way to one that another record brings: the end of a run. */
export function recordsBefore(life: StatusState, to: TaskStatus, at: number): readonly StatusRecord[] {
  const { run, standing } = life;
  if (!run || !standing) return [];
  const passed = (statusPath(standing.status, to) ?? []).slice(0, -1) as readonly StatusRecord["status"][];
  return passed.map((status) => ({ kind: "status", run: run.run, ...retryOf(life, { status, at }) }));
}

function retryOf<Change extends Pick<StatusRecord, "status">>(
  { standing, retries }: StatusState,
  change: Change,
): Change {
  return change.status === "queued" && standing?.status === "failed" ? { ...change, retry: retries + 1 } : change;
}
