import type { AgentRecord } from "../records/AgentRecord.ts";
import type { CheckpointRecord } from "../records/CheckpointRecord.ts";
import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import type { RunRecord, StatusRecord, TaskRecord } from "../records/runRecords.ts";
import type { TaskStatus } from "../status/TaskStatus.ts";

/** The status that an agent has, and since when. Another object after each change. */
export interface StatusEntry {
  readonly status: TaskStatus;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The record that says so; absent when the beginning or the end of a run does. */
  readonly record?: StatusRecord;
}

/** What a log says about an agent's status: the same for a task and for an agent that was run without one. */
export interface StatusState {
  /** Absent for an agent that was not created as a task. */
  readonly task?: TaskRecord;
  /** The last run; absent while there was none. */
  readonly run?: RunRecord;
  /** Absent while there was no run. */
  readonly standing?: StatusEntry;
  /** When the agent's first run was asked for, in milliseconds since 1970. */
  readonly createdAt?: number;
  /** When the last run began, in milliseconds since 1970; absent while it is queued. */
  readonly startedAt?: number;
  /** How often the last run was tried again after a failure. */
  readonly retries: number;
  /** The newest checkpoint. */
  readonly checkpoint?: { readonly id: string; readonly record: CheckpointRecord };
}

/** Of an agent that nothing is known of. */
export const initialStatus: StatusState = { retries: 0 };

/** What a record makes of a life. */
export function lifeAfter(life: StatusState, record: AgentRecord, generation: number): StatusState {
  switch (record.kind) {
    case "task":
      return { ...life, task: record };
    case "run":
      return begun(life, record);
    case "status":
      return moved(life, record);
    case "checkpoint":
      return atCheckpoint(life, record, generation);
    default:
      return life;
  }
}

/** What a snapshot restates. It is made while its run goes on. */
export function lifeAtSnapshot({ run, createdAt, checkpoint, checkpointId, life }: SnapshotRecord): StatusState {
  return {
    run,
    createdAt,
    standing: { status: "in_progress", at: life?.since ?? run.at },
    startedAt: life?.startedAt ?? run.at,
    retries: life?.retries ?? 0,
    checkpoint: { id: checkpointId, record: checkpoint },
    ...(life?.task && { task: life.task }),
  };
}

/** What a snapshot has to say of a life beside its run and its checkpoint; `undefined` when that says it all. */
export function lifeInSnapshot({ task, run, startedAt, standing, retries }: StatusState): SnapshotRecord["life"] {
  const told = {
    ...(task && { task }),
    ...(startedAt !== run?.at && startedAt !== undefined && { startedAt }),
    ...(standing && standing.at !== run?.at && { since: standing.at }),
    ...(retries > 0 && { retries }),
  };
  return Object.keys(told).length > 0 ? told : undefined;
}

function begun(life: StatusState, run: RunRecord): StatusState {
  const { at } = run;
  return {
    ...life,
    run,
    standing: { status: "in_progress", at },
    createdAt: life.createdAt ?? at,
    startedAt: at,
    retries: 0,
  };
}

function moved({ startedAt, ...life }: StatusState, record: StatusRecord): StatusState {
  const { status, at, retry } = record;
  const started = status === "in_progress" ? (startedAt ?? at) : startedAt;
  // Queued for the first time: the run that stands before it has not begun yet.
  const waits = status === "queued" && retry === undefined;
  return {
    ...life,
    standing: { status, at, record },
    retries: retry ?? life.retries,
    ...(started !== undefined && !waits && { startedAt: started }),
  };
}

function atCheckpoint(life: StatusState, record: CheckpointRecord, generation: number): StatusState {
  const checkpoint = { id: record.id ?? `${generation}-${record.version}`, record };
  if (record.status === undefined) return { ...life, checkpoint };
  return { ...life, checkpoint, standing: { status: record.status, at: record.at } };
}
