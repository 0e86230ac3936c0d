import type { StatusRecord } from "../records/runRecords.ts";
import { STATE_TRANSITIONS } from "../status/STATE_TRANSITIONS.ts";
import type { TaskStatus } from "../status/TaskStatus.ts";
import type { StatusState } from "./StatusState.ts";

/**
 * Returns the records that change an agent to a status. Intermediate statuses get a record each, so that a log contains
 * only transitions of `STATE_TRANSITIONS`.
 */
export function statusRecords(state: StatusState, change: Omit<StatusRecord, "kind" | "run">): readonly StatusRecord[] {
  const { run } = state;
  if (!run) throw new TypeError(`The agent has no run that could become ${change.status}. Run it first.`);
  return [
    ...statusRecordsBefore(state, change.status, change.at),
    { kind: "status", run: run.run, ...retryOf(state, change) },
  ];
}

export function statusRecordsBefore(state: StatusState, to: TaskStatus, at: number): readonly StatusRecord[] {
  const { run, current } = state;
  if (!run || !current) return [];
  const passed = statusPath(current.status, to).slice(0, -1) as readonly StatusRecord["status"][];
  return passed.map((status) => ({ kind: "status", run: run.run, ...retryOf(state, { status, at }) }));
}

function retryOf<Change extends Pick<StatusRecord, "status">>(
  { current, retries }: StatusState,
  change: Change,
): Change {
  return change.status === "queued" && current?.status === "failed" ? { ...change, retry: retries + 1 } : change;
}

function statusPath(from: TaskStatus, to: TaskStatus): readonly TaskStatus[] {
  const seen = new Set<TaskStatus>([from]);
  const paths = [[from]];
  for (const path of paths) {
    const at = path.at(-1) ?? from;
    if (at === to) return path.slice(1);
    for (const next of STATE_TRANSITIONS[at].filter((status) => !seen.has(status))) {
      seen.add(next);
      paths.push([...path, next]);
    }
  }
  return [];
}
