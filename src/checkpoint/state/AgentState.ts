import type {
  DecisionRecord,
  RequirementsRecord,
  SettingsRecord,
  StructureRecord,
  CheckpointPoint,
} from "../records/lineRecords.ts";
import type { StoredMessage } from "../messages/LinkedHistory.ts";
import type { NoteRecord } from "../records/AgentRecord.ts";
import type { Visit } from "../records/Visit.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import type { ReplyRecord, RequestRecord } from "../records/requestRecords.ts";
import type { RunRecord } from "../records/runRecords.ts";
import type { StatusState } from "./StatusState.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { SnapshotRecord } from "../records/SnapshotRecord.ts";

export interface RecordedCall {
  readonly call: string;
  readonly visit: Visit;
  readonly order: number;
  readonly intent?: IntentRecord;
  readonly outcome?: OutcomeRecord;
}

export interface RecordedRequest {
  readonly record: RequestRecord;
  readonly reply?: ReplyRecord;
  readonly repliedAt?: number;
  readonly renamed?: true;
}

export interface RecordedAnswer extends AnswerRecord {
  readonly order: number;
}

export function answerRecord({ order: _order, ...record }: RecordedAnswer): AnswerRecord {
  return record;
}

/** The state of an agent at a point of its log, on one lane. Values are in stored form. */
export interface AgentState {
  readonly lane: number;
  readonly runId: string;
  readonly run: RunRecord | undefined;
  readonly checkpoint: CheckpointPoint | undefined;
  readonly history: readonly StoredMessage[];
  readonly storage: ReadonlyMap<string, StoredValue>;
  readonly settings: SettingsRecord | undefined;
  readonly requirements: RequirementsRecord | undefined;
  readonly structure: StructureRecord | undefined;
  readonly decisions: readonly DecisionRecord[];
  /** The model responses that messages refer to or that a replay needs, by {@link answerKey}. */
  readonly answers: ReadonlyMap<string, RecordedAnswer>;
  readonly requests: ReadonlyMap<string, RecordedRequest>;
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** The notes, oldest first. Notes from before a snapshot are missing if the log was read from the snapshot. */
  readonly notes: readonly NoteRecord[];
}

export const emptyState: AgentState = {
  lane: 0,
  runId: "",
  run: undefined,
  checkpoint: undefined,
  history: [],
  storage: new Map(),
  settings: undefined,
  requirements: undefined,
  structure: undefined,
  decisions: [],
  answers: new Map(),
  requests: new Map(),
  calls: new Map(),
  notes: [],
};

export function visitAt(checkpoint: Pick<CheckpointPoint, "version" | "record">): Visit {
  return checkpoint.record.visit ?? [checkpoint.version, 0];
}

/** Returns the first node execution on a lane without a checkpoint. Its negative number differs from all versions. */
export function firstVisitOf(lane: number): Visit {
  return [-lane, 0];
}

export function nextVisitOf({ checkpoint, lane }: Pick<AgentState, "checkpoint" | "lane">): Visit {
  return checkpoint ? visitAt(checkpoint) : firstVisitOf(lane);
}

/** Returns the rejected calls. A rejected call is never made, but messages to the model contain its id. */
export function refusedCalls({ requests }: AgentState): ReadonlySet<string> {
  const refused = [...requests.values()].flatMap(({ record: { approval }, reply }) =>
    approval && (reply?.expired || reply?.rejected !== undefined) ? [approval.call] : [],
  );
  return new Set(refused);
}

/**
 * Returns a test for the requests that a run makes again, because one of them expired and ended the run. An expired
 * approval, timer or event does not end a run.
 */
export function askedAgain(
  { requests }: AgentState,
  { failedCalls, current }: StatusState,
): (request: RecordedRequest) => boolean {
  const expired = (failedCalls ?? []).flatMap((id) => requests.get(id)?.repliedAt ?? []);
  // Logs of version 0.1.0 do not name the request that ended the run.
  const isUnnamed = expired.length === 0 && current?.record?.error?.code === "request_expired";
  const failedAt = isUnnamed ? 0 : Math.min(...expired);
  return ({ record: { approval, waitingFor }, reply, repliedAt = 0 }) =>
    reply?.expired === true && !approval && !["timer", "event"].includes(waitingFor) && repliedAt >= failedAt;
}

export interface ProjectionBase {
  readonly state: AgentState;
  readonly order: number;
  readonly parentId: string | undefined;
  readonly first: boolean;
  /** Whether other records come between the snapshot and its checkpoint. */
  readonly isPassed: boolean;
}

export function baseOfSnapshot(snapshot: SnapshotRecord, checkpoint: CheckpointPoint): ProjectionBase {
  const { parentId, first = false } = snapshot;
  const { nextVersion = checkpoint.version + 1, since } = snapshot;
  // A finished sub-agent has a checkpoint, but is not in `since`.
  const isPassed = since !== undefined || nextVersion > checkpoint.version + 1;
  return { state: stateOfSnapshot(snapshot, checkpoint), order: checkpoint.order, parentId, first, isPassed };
}

function stateOfSnapshot(snapshot: SnapshotRecord, checkpoint: CheckpointPoint): AgentState {
  const { run, history, storage, settings, requirements, structure, decisions } = snapshot;
  return {
    ...emptyState,
    lane: checkpoint.record.lane,
    runId: run.run,
    run,
    checkpoint,
    history,
    storage: new Map(Object.entries(storage)),
    settings,
    requirements,
    structure,
    decisions,
  };
}
