import type { CheckpointPoint, LaneStart, LogProjection } from "./LogProjection.ts";
import { applyEdit, type StoredMessage } from "../messages/storedHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { NoteRecord } from "../records/NoteRecord.ts";
import type { Visit } from "../records/Visit.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import type { DecisionRecord, RequirementsRecord, SettingsRecord, StructureRecord } from "../records/lineRecords.ts";
import type { ReplyRecord, RequestRecord } from "../records/requestRecords.ts";
import type { RunRecord } from "../records/runRecords.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** A tool call as a line knows it. */
export interface RecordedCall {
  readonly call: string;
  readonly visit: Visit;
  readonly order: number;
  readonly intent?: IntentRecord;
  readonly outcome?: OutcomeRecord;
}

/** A request as a line knows it. */
export interface RecordedRequest {
  readonly record: RequestRecord;
  /** Absent: nobody has answered. */
  readonly reply?: ReplyRecord;
  /** Orders the reply among all records of the log. */
  readonly repliedAt?: number;
}

/** What an agent was at a point of its log, on the line that leads there: stored forms, not yet decoded. */
export interface AgentState {
  readonly lane: number;
  readonly runId: string;
  readonly run: RunRecord | undefined;
  /** Absent while a run has no checkpoint yet. */
  readonly checkpoint: CheckpointPoint | undefined;
  readonly history: readonly StoredMessage[];
  readonly storage: ReadonlyMap<string, StoredValue>;
  readonly settings: SettingsRecord | undefined;
  readonly requirements: RequirementsRecord | undefined;
  readonly structure: StructureRecord | undefined;
  readonly decisions: readonly DecisionRecord[];
  /** Answers that its messages refer to, and those that a node gets again; by {@link answerKey}. */
  readonly answers: ReadonlyMap<string, AnswerRecord>;
  /** Requests that its nodes made, by id. */
  readonly requests: ReadonlyMap<string, RecordedRequest>;
  /** Likewise for tool calls, by id; those that were reverted included. */
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** What was noted, oldest first; since the newest snapshot, where reading began there. */
  readonly notes: readonly NoteRecord[];
}

/** Of an agent that nothing is known of. */
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

/** Where something was asked in a visit: by the node itself, or within one of its tool calls. */
export function answerKey(visit: Visit, ordinal: number, within = ""): string {
  return `${visit[0]}.${visit[1]}.${ordinal}${within === "" ? "" : `.${within}`}`;
}

/** The visit that runs next at a checkpoint. */
export function visitAt(checkpoint: CheckpointPoint): Visit {
  return checkpoint.record.visit ?? [checkpoint.version, 0];
}

/** The first visit of a line without a checkpoint. It is no other line's, since what a run keeps of another has visits too. */
export function firstVisitOf(lane: number): Visit {
  return [-lane, 0];
}

/** The visit that runs next in a state. */
export function nextVisitOf({ checkpoint, lane }: Pick<AgentState, "checkpoint" | "lane">): Visit {
  return checkpoint ? visitAt(checkpoint) : firstVisitOf(lane);
}

/**
 * The state at a checkpoint, or at the head when none is given: the newest line, with everything recorded on it.
 * With `originals` the history is as if nothing had been trimmed; the index must reach back to the start for that.
 * `undefined` when the line begins before what was read, so that the log must be read from its start.
 */
export function foldTo(
  index: LogProjection,
  point?: CheckpointPoint,
  { originals = false }: { readonly originals?: boolean } = {},
): AgentState | undefined {
  const lane = point?.record.lane ?? index.nextLane - 1;
  const line = lineTo(index, lane, point?.order ?? Infinity);
  if (line === undefined) return undefined;
  const state = new Folding(index, lane, originals);
  for (const segment of line) state.addSegment(segment);
  return state.finish(point ?? state.lastCheckpoint(index));
}

interface Segment {
  readonly lane: number;
  readonly start: LaneStart | undefined;
  readonly upTo: number;
  readonly snapshot: boolean;
}

/** The pieces of lanes that lead to a point, oldest first; nothing before a lane that keeps nothing. */
function lineTo(index: LogProjection, lane: number, upTo: number): Segment[] | undefined {
  const start = index.lanes.get(lane);
  if (start === undefined) return upTo === Infinity && lane === 0 ? [] : undefined;
  const snapshot = index.snapshot?.record.checkpoint.lane === lane;
  if (snapshot && upTo < (index.snapshot?.order ?? 0)) return undefined;
  const own = { lane, start, upTo, snapshot };
  const { from, keep } = start.record;
  if (snapshot || from === undefined || keep === "nothing") return [own];
  const origin = index.checkpoints.get(from);
  if (origin === undefined) return undefined;
  const before = lineTo(index, origin.record.lane, origin.order);
  return before && [...before, own];
}

class Folding {
  readonly #index: LogProjection;
  readonly #lane: number;
  readonly #originals: boolean;
  #history: StoredMessage[] = [];
  #storage = new Map<string, StoredValue>();
  #settings: SettingsRecord | undefined;
  #requirements: RequirementsRecord | undefined;
  #structure: StructureRecord | undefined;
  #decisions: DecisionRecord[] = [];
  #answers = new Map<string, AnswerRecord>();
  #requests = new Map<string, RecordedRequest>();
  #calls = new Map<string, RecordedCall>();
  #notes: NoteRecord[] = [];

  constructor(index: LogProjection, lane: number, originals: boolean) {
    this.#originals = originals;
    this.#index = index;
    this.#lane = lane;
  }

  addSegment({ lane, start, upTo, snapshot }: Segment): void {
    if (start && start.record.keep !== "all") this.#beginRun(start.record.keep === "history");
    if (snapshot) this.#addSnapshot();
    for (const { record, order } of this.#index.laneRecords.get(lane) ?? []) {
      if (order > upTo) break;
      this.#add(record, order);
    }
  }

  /** The newest checkpoint of this run on this line. */
  lastCheckpoint(index: LogProjection): CheckpointPoint | undefined {
    const { latest } = index;
    return latest?.record.lane === this.#lane ? latest : undefined;
  }

  finish(checkpoint: CheckpointPoint | undefined): AgentState {
    return {
      lane: this.#lane,
      runId: checkpoint?.runId ?? this.#index.run?.run ?? "",
      run: this.#index.runRecords.get(checkpoint?.runId ?? this.#index.run?.run ?? ""),
      checkpoint,
      history: this.#history,
      storage: this.#storage,
      settings: this.#settings,
      requirements: this.#requirements,
      structure: this.#structure,
      decisions: this.#decisions,
      answers: this.#answers,
      requests: this.#requests,
      calls: this.#calls,
      notes: this.#notes,
    };
  }

  #beginRun(keepHistory: boolean): void {
    if (!keepHistory) {
      this.#history = [];
      this.#answers = new Map();
      this.#calls = new Map();
    }
    this.#notes = [];
    this.#requests = new Map();
    this.#storage = new Map();
    this.#settings = undefined;
    this.#requirements = undefined;
    this.#structure = undefined;
    this.#decisions = [];
  }

  #addSnapshot(): void {
    const snapshot = this.#index.snapshot?.record;
    if (!snapshot) return;
    this.#history = [...snapshot.history];
    this.#storage = new Map(Object.entries(snapshot.storage));
    this.#settings = snapshot.settings;
    this.#requirements = snapshot.requirements;
    this.#structure = snapshot.structure;
    this.#decisions = [...snapshot.decisions];
  }

  #add(record: AgentRecord, order: number): void {
    switch (record.kind) {
      case "message":
        this.#history.push({ number: record.number, message: record.message });
        return;
      case "edit":
        if (!(this.#originals && record.trim)) this.#history = applyEdit(this.#history, record);
        return;
      case "storage":
        if ("value" in record) this.#storage.set(record.key, record.value);
        else this.#storage.delete(record.key);
        return;
      case "settings":
        this.#settings = record;
        return;
      case "requirements":
        this.#requirements = record;
        return;
      case "structure":
        this.#structure = record;
        return;
      case "decision":
        this.#decisions.push(record);
        return;
      case "answer":
        return this.#addAnswer(record);
      case "note":
        this.#notes.push(record);
        return;
      case "request":
      case "reply":
        return this.#addRequest(record, order);
      case "intent":
      case "outcome":
        return this.#addCall(record, order);
      default:
        return;
    }
  }

  #addRequest(record: RequestRecord | ReplyRecord, order: number): void {
    const known = this.#requests.get(record.request);
    if (record.kind === "request") this.#requests.set(record.request, { record });
    else if (known) this.#requests.set(record.request, { ...known, reply: record, repliedAt: order });
  }

  /** A second answer at one place: the visit has gone on afresh, and what it did after the first is no part of it. */
  #addAnswer(record: AnswerRecord): void {
    const key = answerKey(record.visit, record.ordinal, record.within);
    if (this.#answers.has(key)) this.#forgetCalls(record.visit);
    this.#answers.set(key, record);
  }

  #forgetCalls([base, ordinal]: Visit): void {
    for (const { call, visit } of this.#calls.values())
      if (visit[0] === base && visit[1] === ordinal) this.#calls.delete(call);
  }

  #addCall(record: IntentRecord | OutcomeRecord, order: number): void {
    const known = this.#calls.get(record.call);
    const call: RecordedCall = { ...known, call: record.call, visit: record.visit, order };
    this.#calls.set(record.call, withRecord(call, record));
  }
}

/** A call with what was recorded of it next. A new intent begins the call anew. */
export function withRecord<Call extends RecordedCall>(call: Call, record: IntentRecord | OutcomeRecord): Call {
  if (record.kind === "outcome") return { ...call, outcome: record };
  const { outcome: _before, ...begun } = call;
  return { ...begun, intent: record } as Call;
}
