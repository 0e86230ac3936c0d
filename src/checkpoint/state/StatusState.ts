import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { CheckpointRecord } from "../records/lineRecords.ts";
import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import type { CustodyRecord, RunRecord, StatusRecord, TaskRecord } from "../records/runRecords.ts";
import { type TaskStatus, STATE_TRANSITIONS } from "../status/TaskStatus.ts";

/** A status and the time of its start. Each change creates a new object. */
export interface StatusEntry {
  readonly status: TaskStatus;
  readonly at: number;
  /** The record that set the status. Omitted if the start or the end of a run set the status. */
  readonly record?: StatusRecord;
}

export interface StatusState {
  readonly task?: TaskRecord;
  readonly run?: RunRecord;
  readonly current?: StatusEntry;
  readonly createdAt?: number;
  readonly startedAt?: number;
  readonly retries: number;
  /** The number of attempts of the task since it last made progress. 0 without a task. */
  readonly attempts: number;
  /** The calls and requests whose failures ended the run and that a resume still has to retry. */
  readonly failedCalls?: readonly string[] | undefined;
  readonly custody?: CustodyRecord;
  readonly checkpoint?: { readonly id: string; readonly record: CheckpointRecord };
  /** When the newest checkpoint of a branch or sub-agent was made, in milliseconds since 1970. */
  readonly activeAt?: number;
  /** The lanes of branches and sub-agents. Later states add lanes to the same set. */
  readonly nestedLanes?: ReadonlySet<number>;
}

export const initialStatus: StatusState = { retries: 0, attempts: 0 };

export function statusAfter(state: StatusState, record: AgentRecord, generation: number): StatusState {
  const next = changedBy(state, record, generation);
  // Any record can name the vault of its run.
  const { vault } = record as Partial<RunRecord>;
  return vault && next.run ? { ...next, run: { ...next.run, vault } } : next;
}

function changedBy(state: StatusState, record: AgentRecord, generation: number): StatusState {
  switch (record.kind) {
    case "task":
      return { ...state, task: record };
    case "run":
      return begun(state, record);
    case "lane":
      return record.place ? withNestedLane(state, record.lane) : state;
    case "status":
      return moved(state, record);
    case "checkpoint":
      return further(
        state.nestedLanes?.has(record.lane)
          ? { ...state, activeAt: record.at }
          : atCheckpoint(state, record, generation),
      );
    case "answer":
      return further(state);
    case "reply":
      return further(endedAnew(state, record.request));
    case "outcome":
      return further(endedAnew(state, record.call));
    default:
      return withCustody(state, record);
  }
}

/** Returns the status at a snapshot, which is written only during a run or at its end. */
export function statusAtSnapshot({ run, createdAt, checkpoint, checkpointId, life }: SnapshotRecord): StatusState {
  const { status, at } = checkpoint;
  return {
    run,
    createdAt,
    current: status ? { status, at } : inProgressAt(life?.since ?? run.at, run, life?.requests),
    startedAt: life?.startedAt ?? run.at,
    retries: life?.retries ?? 0,
    attempts: 1,
    failedCalls: life?.failedCalls,
    checkpoint: { id: checkpointId, record: checkpoint },
    ...(life?.task && { task: life.task }),
  };
}

function inProgressAt(at: number, { run }: RunRecord, requests: readonly string[] | undefined): StatusEntry {
  const status = "in_progress";
  return { status, at, ...(requests && { record: { kind: "status", run, status, at, requests } }) };
}

/** Returns the status data that a snapshot stores in addition to its run and checkpoint, or `undefined`. */
export function statusInSnapshot({
  task,
  run,
  startedAt,
  current,
  retries,
  failedCalls,
}: StatusState): SnapshotRecord["life"] {
  const since = current?.at;
  const rest = withoutUndefined({
    task,
    startedAt: startedAt === run?.at ? undefined : startedAt,
    since: since === run?.at ? undefined : since,
    retries: retries > 0 ? retries : undefined,
    failedCalls,
    requests: current?.record?.requests,
  });
  return Object.keys(rest).length > 0 ? rest : undefined;
}

/** Removes the custody record of a fork, which may run even if the original agent may not. */
function withCustody(state: StatusState, record: AgentRecord): StatusState {
  if (record.kind === "custody") return { ...state, custody: record };
  if (record.kind !== "origin" || !state.custody) return state;
  const { custody: _custody, ...others } = state;
  return others;
}

function begun(state: StatusState, run: RunRecord): StatusState {
  const { at } = run;
  const current = { status: "in_progress", at } as const;
  return {
    ...state,
    run,
    current,
    createdAt: state.createdAt ?? at,
    startedAt: at,
    retries: 0,
    attempts: 0,
    failedCalls: undefined,
  };
}

/** Removes a failed call that has ended again, so that a resume does not retry the call. */
function endedAnew(state: StatusState, call: string): StatusState {
  if (state.failedCalls?.includes(call) !== true) return state;
  const left = state.failedCalls.filter((failed) => failed !== call);
  return { ...state, failedCalls: left.length > 0 ? left : undefined };
}

/** Adds the lane to the shared set, because copying the set for each lane would take too long. */
function withNestedLane(state: StatusState, lane: number): StatusState {
  const known = state.nestedLanes as Set<number> | undefined;
  return known?.add(lane) ? state : { ...state, nestedLanes: new Set([lane]) };
}

/** Resets the number of attempts, because a new record means progress. */
function further(state: StatusState): StatusState {
  return state.attempts > 1 ? { ...state, attempts: 1 } : state;
}

function moved({ startedAt, ...state }: StatusState, record: StatusRecord): StatusState {
  const { status, at, retry, attempt = 0 } = record;
  const started = status === "in_progress" ? (startedAt ?? at) : startedAt;
  // A new queued run has not started, although the log already contains its run record.
  const waits = status === "queued" && retry === undefined;
  return {
    ...state,
    current: { status, at, record },
    failedCalls: status === "failed" ? record.failedCalls : state.failedCalls,
    retries: retry ?? state.retries,
    attempts: status === "in_progress" || status === "queued" ? attempt : state.attempts,
    ...(started !== undefined && !waits && { startedAt: started }),
  };
}

function atCheckpoint(state: StatusState, record: CheckpointRecord, generation: number): StatusState {
  const checkpoint = { id: record.id ?? `${generation}-${record.version}`, record };
  if (record.status === undefined) return { ...state, checkpoint };
  return { ...state, checkpoint, current: { status: record.status, at: record.at } };
}

/** Returns a record for each status on the way to a new status, because `STATE_TRANSITIONS` limits each transition. */
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

/** Returns when a worker retries a failed task, in milliseconds since 1970. `undefined` for no retry. */
export function retryAt({ task, current, retries }: StatusState): number | undefined {
  const { retries: most = 0, retryDelayMs = 0 } = task?.controls ?? {};
  if (current?.status !== "failed" || current.record?.recoverable === false || retries >= most) return undefined;
  return current.at + retryDelayMs * 2 ** Math.min(retries, 6);
}
