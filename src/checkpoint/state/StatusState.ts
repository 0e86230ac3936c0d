import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { CheckpointRecord } from "../records/CheckpointRecord.ts";
import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import type { CustodyRecord, RunRecord, StatusRecord, TaskRecord } from "../records/runRecords.ts";
import type { TaskStatus } from "../status/TaskStatus.ts";

/** The current status of an agent, and since when. Every change creates a new object. */
export interface StatusEntry {
  readonly status: TaskStatus;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The record that set it. Absent: the beginning or the end of a run did. */
  readonly record?: StatusRecord;
}

/** What a log says about the status of an agent, with or without a task. */
export interface StatusState {
  /** Absent: the agent was not created as a task. */
  readonly task?: TaskRecord;
  /** The last run. Absent: there was none yet. */
  readonly run?: RunRecord;
  /** Absent: there was no run yet. */
  readonly current?: StatusEntry;
  /** When the agent's first run was requested, in milliseconds since 1970. */
  readonly createdAt?: number;
  /** When the last run began, in milliseconds since 1970. Absent: it is queued. */
  readonly startedAt?: number;
  /** How often the last run was retried after a failure. */
  readonly retries: number;
  /** How often the task was begun or continued since it last got further; 0 for a task that was not, and for no task. */
  readonly attempts: number;
  /** The calls whose failures the run rejected with, and that have not ended since: they are made again. Absent: none. */
  readonly failedCalls?: readonly string[] | undefined;
  /** Whether the agent may run here. Absent: it may. */
  readonly custody?: CustodyRecord;
  /** The newest checkpoint of the main line. */
  readonly checkpoint?: { readonly id: string; readonly record: CheckpointRecord };
  /** When a nested line made its newest checkpoint, in milliseconds since 1970. Absent: none has made one. */
  readonly activeAt?: number;
  /** The lanes of nested lines. What one state learns of them, those before it know, too. Absent: there were none. */
  readonly nestedLanes?: ReadonlySet<number>;
}

/** The status of an agent without records. */
export const initialStatus: StatusState = { retries: 0, attempts: 0 };

/** The status after one more record. */
export function statusAfter(state: StatusState, record: AgentRecord, generation: number): StatusState {
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
    case "reply":
      return further(state);
    case "outcome":
      return further(endedAnew(state, record.call));
    default:
      return withCustody(state, record);
  }
}

/** The status that a snapshot restates. A snapshot is written only while its run is in progress, or with its end. */
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

/** What a snapshot stores about the status besides its run and its checkpoint; `undefined` when these are enough. */
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

/** A fork may run, whatever became of the agent that it is one of. */
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

/** A call that has ended since its failure ended the run gives back its newest end. */
function endedAnew(state: StatusState, call: string): StatusState {
  if (state.failedCalls?.includes(call) !== true) return state;
  const left = state.failedCalls.filter((failed) => failed !== call);
  return { ...state, failedCalls: left.length > 0 ? left : undefined };
}

/** A copy for each of many lanes would take too long. */
function withNestedLane(state: StatusState, lane: number): StatusState {
  const known = state.nestedLanes as Set<number> | undefined;
  return known?.add(lane) ? state : { ...state, nestedLanes: new Set([lane]) };
}

/** What the current attempt has recorded is not done again by the next. */
function further(state: StatusState): StatusState {
  return state.attempts > 1 ? { ...state, attempts: 1 } : state;
}

function moved({ startedAt, ...state }: StatusState, record: StatusRecord): StatusState {
  const { status, at, retry, attempt = 0 } = record;
  const started = status === "in_progress" ? (startedAt ?? at) : startedAt;
  // Queued for the first time: the run has not begun, although its record comes before.
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
