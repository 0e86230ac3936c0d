import type { CheckpointPoint } from "./CheckpointPoint.ts";
import type { StoredMessage } from "../messages/storedHistory.ts";
import type { NoteRecord } from "../records/NoteRecord.ts";
import type { Visit } from "../records/Visit.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import type {
  DecisionRecord,
  Renames,
  RequirementsRecord,
  SettingsRecord,
  StructureRecord,
} from "../records/lineRecords.ts";
import type { ReplyRecord, RequestRecord } from "../records/requestRecords.ts";
import type { RunRecord } from "../records/runRecords.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** A tool call, as its lane records it. */
export interface RecordedCall {
  readonly call: string;
  readonly visit: Visit;
  /** Orders its newest record among all records of the log. */
  readonly order: number;
  readonly intent?: IntentRecord;
  readonly outcome?: OutcomeRecord;
}

/** A request, as its lane records it. */
export interface RecordedRequest {
  readonly record: RequestRecord;
  /** Absent: it is not answered. */
  readonly reply?: ReplyRecord;
  /** Orders the reply among all records of the log. */
  readonly repliedAt?: number;
  /** A migration has renamed the tool of the call that it approves. */
  readonly renamed?: true;
}

/** An answer, as its lane records it. */
export interface RecordedAnswer extends AnswerRecord {
  /** The tools that migrations have renamed since, one after the other. Absent: none. */
  readonly renames?: readonly Renames["tools"][];
}

/** The state of an agent at a point of its log, on the lane that leads there. Values are in their stored form. */
export interface AgentState {
  readonly lane: number;
  readonly runId: string;
  readonly run: RunRecord | undefined;
  /** `undefined` while a run has no checkpoint yet. */
  readonly checkpoint: CheckpointPoint | undefined;
  readonly history: readonly StoredMessage[];
  readonly storage: ReadonlyMap<string, StoredValue>;
  readonly settings: SettingsRecord | undefined;
  readonly requirements: RequirementsRecord | undefined;
  readonly structure: StructureRecord | undefined;
  readonly decisions: readonly DecisionRecord[];
  /** The answers that its messages refer to, and those that a replay gives to a node again; by {@link answerKey}. */
  readonly answers: ReadonlyMap<string, RecordedAnswer>;
  /** The requests of its nodes, by id. */
  readonly requests: ReadonlyMap<string, RecordedRequest>;
  /** The tool calls of its nodes, by id, reverted ones included. */
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** Its notes, oldest first. If the log was read from a snapshot, those before it are missing. */
  readonly notes: readonly NoteRecord[];
}

/** The state of an agent without records. */
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

/** The visit that runs next from a checkpoint. */
export function visitAt(checkpoint: CheckpointPoint): Visit {
  return checkpoint.record.visit ?? [checkpoint.version, 0];
}

/** The first visit on a lane without a checkpoint. It differs for each lane, since a run may keep visits of other lanes. */
export function firstVisitOf(lane: number): Visit {
  return [-lane, 0];
}

/** The visit that runs next from a state. */
export function nextVisitOf({ checkpoint, lane }: Pick<AgentState, "checkpoint" | "lane">): Visit {
  return checkpoint ? visitAt(checkpoint) : firstVisitOf(lane);
}

/** The calls that were not approved: they are never made, and what a model was told of them names them by their ids. */
export function refusedCalls({ requests }: AgentState): ReadonlySet<string> {
  const refused = [...requests.values()].flatMap(({ record: { approval }, reply }) =>
    approval && (reply?.expired || reply?.rejected !== undefined) ? [approval.call] : [],
  );
  return new Set(refused);
}
