import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { LastPruning } from "../checkpoint/records/SnapshotRecord.ts";
import type { CustodyRecord, RunRecord, TaskRecord } from "../checkpoint/records/runRecords.ts";
import { type StatusEntry, type StatusState, retryAt } from "../checkpoint/state/StatusState.ts";
import { stateDataOf } from "../checkpoint/state/stateDataOf.ts";
import type { AgentSummary } from "../storage/RecordLog.ts";

/** Returns the maximum number of checkpoints in a log. There can be fewer, because versions can be skipped. */
export function mostCheckpoints({ nextVersion, pruned: [version, kept] = [0, 0] }: CountedCheckpoints): number {
  return Math.max(0, nextVersion - 1 - version) + kept;
}

interface CountedCheckpoints {
  readonly nextVersion: number;
  readonly pruned: LastPruning | undefined;
}

/** Returns the summary of an agent, or `undefined` before its first run. `checkpoints` is the maximum number. */
export function agentSummary(agentId: string, state: StatusState, checkpoints?: number): AgentSummary | undefined {
  const { task, attempts, run, current, createdAt, custody } = state;
  if (!run || !current) return undefined;
  const created = new Date(createdAt ?? run.at).toISOString();
  return withoutUndefined({
    agentId,
    runId: run.run,
    ...(task && { ...taskFields(task, run, current), attempts }),
    checkpoints,
    status: current.status,
    order: `${task?.order ?? (task ? priorityOrder(task.priority ?? 0) : orderBehindTasks) + created} ${agentId}`,
    // Only tasks have a due time, because only workers look for due agents.
    dueAt: task && dueTime(state),
    requestIds: current.record?.requests ?? [],
    position: 0,
    createdAt: created,
    updatedAt: new Date(current.at).toISOString(),
    data: stateDataOf(agentId, state),
    ...awayFields(custody),
  });
}

function dueTime(state: StatusState): string | undefined {
  const due = state.current?.record?.until ?? retryAt(state);
  return due === undefined ? undefined : new Date(due).toISOString();
}

function awayFields(
  { state, at, to }: CustodyRecord = { kind: "custody", state: "here", at: 0 },
): Partial<AgentSummary> {
  if (state === "here") return {};
  const data = to ? { movedTo: to } : {};
  return { status: state, requestIds: [], updatedAt: new Date(at).toISOString(), data };
}

function taskFields(
  { name, priority, reserves = [], controls }: TaskRecord,
  { input }: RunRecord,
  { status }: StatusEntry,
) {
  // The input is needed only while the task is queued.
  return withoutUndefined({
    taskName: name,
    priority,
    inputRequest: status === "queued" ? undefined : input,
    reserves,
    controls,
  });
}

/** Returns a prefix for the sort key: high priorities come first, negative priorities last. Empty for priority 0. */
export function priorityOrder(priority: number): string {
  if (priority === 0) return "";
  const digits = 16;
  return priority > 0
    ? `!${String(Number.MAX_SAFE_INTEGER - priority).padStart(digits, "0")} `
    : `~${String(-priority).padStart(digits, "0")} `;
}

/** Sort-key prefix of agents without a task, between tasks without a queue and tasks with a queue. */
export const orderBehindTasks = "~p";

const orderFormat = /^(?:[!~]\d{16} |~p|~q\S+ \d{17} \S* )?((?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ./s;

export function isSummaryOrder(text: string): boolean {
  const [, time] = orderFormat.exec(text) ?? [];
  return time !== undefined && !Number.isNaN(Date.parse(time));
}
