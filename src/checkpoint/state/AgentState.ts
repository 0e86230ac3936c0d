import type { CheckpointPoint, LaneStart, LogProjection } from "./LogProjection.ts";
import { applyEdit, type StoredMessage } from "../messages/storedHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { NoteRecord } from "../records/NoteRecord.ts";
import type { SnapshotRecord } from "../records/SnapshotRecord.ts";
import { answerKey, type Visit } from "../records/Visit.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import type {
  DecisionRecord,
  LaneRecord,
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
  readonly answers: ReadonlyMap<string, AnswerRecord>;
  /** The requests of its nodes, by id. */
  readonly requests: ReadonlyMap<string, RecordedRequest>;
  /** The tool calls of its nodes, by id, reverted ones included. */
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** Its notes, oldest first. If the log was read from a snapshot, those before it are missing. */
  readonly notes: readonly NoteRecord[];
}

type Mutable<Value> =
  Value extends ReadonlyMap<infer Key, infer Item>
    ? Map<Key, Item>
    : Value extends readonly (infer Item)[]
      ? Item[]
      : Value;
type FoldedState = { -readonly [Key in keyof AgentState]: Mutable<AgentState[Key]> };

function newState(): FoldedState {
  return {
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
}

/** The state of an agent without records. */
export const emptyState: AgentState = newState();

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

/**
 * The state at a checkpoint, or at the head if none is given: the newest lane with all its records.
 *
 * @param options.originals gives the history without any trimming; the index must then begin at the start of the log.
 * @returns `undefined` when the lane begins before the index does: read the log from its start.
 */
export function foldTo(
  index: LogProjection,
  point?: CheckpointPoint,
  { originals = false }: { readonly originals?: boolean } = {},
): AgentState | undefined {
  const { record, order } = point ?? { record: { lane: index.nextLane - 1 }, order: Infinity };
  const { lane } = record;
  const parts = partsTo(index, lane, order);
  if (parts === undefined) return undefined;
  const state = parts.reduce((before, part) => withPart(before, part, index, originals), newState());
  const checkpoint = point ?? latestOn(index, lane);
  const runId = checkpoint?.runId ?? index.run?.run ?? "";
  return { ...state, lane, runId, run: index.runRecords.get(runId), checkpoint };
}

function latestOn({ latest }: LogProjection, lane: number): CheckpointPoint | undefined {
  return latest?.record.lane === lane ? latest : undefined;
}

/** The records of one lane up to a point. */
interface LanePart {
  readonly lane: number;
  readonly start: LaneStart;
  readonly upTo: number;
  /** The snapshot that it begins with. */
  readonly snapshot: SnapshotRecord | undefined;
}

/** The parts of lanes that lead to a point, oldest first. A lane that keeps nothing is the first part. */
function partsTo(index: LogProjection, lane: number, upTo: number): readonly LanePart[] | undefined {
  const start = index.lanes.get(lane);
  if (start === undefined) return upTo === Infinity && lane === 0 ? [] : undefined;
  const snapshot = index.snapshot?.record.checkpoint.lane === lane ? index.snapshot : undefined;
  if (snapshot && upTo < snapshot.order) return undefined;
  const before = snapshot ? [] : partsBefore(index, start.record);
  return before && [...before, { lane, start, upTo, snapshot: snapshot?.record }];
}

function partsBefore(index: LogProjection, { from, keep }: LaneRecord): readonly LanePart[] | undefined {
  if (from === undefined || keep === "nothing") return [];
  const origin = index.checkpoints.get(from);
  return origin && partsTo(index, origin.record.lane, origin.order);
}

function withPart(
  before: FoldedState,
  { lane, start, upTo, snapshot }: LanePart,
  index: LogProjection,
  originals: boolean,
): FoldedState {
  const state = stateAtStart(before, start.record.keep);
  if (snapshot) addSnapshot(state, snapshot);
  for (const { record, order } of index.laneRecords.get(lane) ?? []) {
    if (order > upTo) break;
    if (originals && record.kind === "edit" && record.trim) continue;
    applierOf.get(record.kind)?.(state, record, order);
  }
  return state;
}

function addSnapshot(state: FoldedState, snapshot: SnapshotRecord): void {
  state.history = [...snapshot.history];
  state.storage = new Map(Object.entries(snapshot.storage));
  state.settings = snapshot.settings;
  state.requirements = snapshot.requirements;
  state.structure = snapshot.structure;
  state.decisions = [...snapshot.decisions];
}

function stateAtStart(before: FoldedState, keep: LaneRecord["keep"]): FoldedState {
  if (keep === "all") return before;
  const { history, answers, calls } = before;
  return { ...newState(), ...(keep === "history" && { history, answers, calls }) };
}

type Apply<Kind> = (state: FoldedState, record: Extract<AgentRecord, { kind: Kind }>, order: number) => void;

const appliers: { readonly [Kind in AgentRecord["kind"]]?: Apply<Kind> } = {
  message: ({ history }, { number, message }) => void history.push({ number, message }),
  edit: (state, edit) => void (state.history = applyEdit(state.history, edit)),
  storage: ({ storage }, record) =>
    void ("value" in record ? storage.set(record.key, record.value) : storage.delete(record.key)),
  settings: (state, settings) => void (state.settings = settings),
  requirements: (state, requirements) => void (state.requirements = requirements),
  structure: (state, structure) => void (state.structure = structure),
  decision: ({ decisions }, decision) => void decisions.push(decision),
  note: ({ notes }, note) => void notes.push(note),
  answer: addAnswer,
  request: ({ requests }, record) => void requests.set(record.request, { record }),
  reply({ requests }, reply, order) {
    const known = requests.get(reply.request);
    if (known) requests.set(reply.request, { ...known, reply, repliedAt: order });
  },
  intent: addCall,
  outcome: addCall,
};

/** The same by kind, for a kind that a newer version may have written. */
const applierOf = new Map(Object.entries(appliers)) as ReadonlyMap<string, Apply<AgentRecord["kind"]>>;

/** A second answer to the same request means that the replay was discarded: the calls after the first no longer count. */
function addAnswer({ answers, calls }: FoldedState, record: AnswerRecord): void {
  const key = answerKey(record.visit, record.ordinal, record.within);
  const [base, ordinal] = record.visit;
  if (answers.has(key))
    for (const { call, visit } of calls.values()) if (visit[0] === base && visit[1] === ordinal) calls.delete(call);
  answers.set(key, record);
}

function addCall({ calls }: FoldedState, record: IntentRecord | OutcomeRecord, order: number): void {
  calls.set(record.call, withRecord(calls.get(record.call), record, order));
}

/** A call with its next record. A new intent begins the call again. */
export function withRecord(
  known: RecordedCall | undefined,
  record: IntentRecord | OutcomeRecord,
  order: number,
): RecordedCall {
  const { call, visit } = record;
  if (record.kind === "outcome") return { ...known, call, visit, order, outcome: record };
  const { outcome: _before, ...begun } = known ?? {};
  return { ...begun, call, visit, order, intent: record };
}

/** Every tool call of a log, with its lane. */
export function callsOf(index: LogProjection): readonly (RecordedCall & { readonly lane: number })[] {
  const calls = new Map<string, RecordedCall & { readonly lane: number }>();
  for (const [lane, records] of index.laneRecords)
    for (const { record, order } of records)
      if (record.kind === "intent" || record.kind === "outcome")
        calls.set(record.call, { ...withRecord(calls.get(record.call), record, order), lane });
  return [...calls.values()];
}
