import { callFacts } from "../data/toolCalls.ts";
import { applyEdit, type HistoryEdit, type StoredMessage } from "../messages/storedHistory.ts";
import type { AgentRecord, RestatedEntry } from "../records/AgentRecord.ts";
import type { Entry } from "../records/Entry.ts";
import { answerKey, answerKeyOf } from "../records/Visit.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import { type AgentState, callsOf, emptyState, foldTo, type RecordedCall, visitAt } from "../state/AgentState.ts";
import type { CheckpointPoint, LogProjection } from "../state/LogProjection.ts";
import { type AnswerReference, envelopeKeyOf, type StoredResult, type StoredValue } from "../values/valueCodec.ts";

/** The kinds that make the state of a lane: a kept checkpoint restates them as the changes since the kept one before it. */
const stateKinds: ReadonlySet<string> = new Set(["message", "edit", "storage", "settings", "requirements", "decision"]);

/**
 * Rewrites a log to these checkpoints and no others: the state at each stays the same, and so do the calls that a rollback to
 * it reverts. Records that belong to no state are kept unchanged.
 *
 * @param kept versions; they must include the head and every checkpoint that a lane begins from.
 */
export function rewriteKept(
  entries: readonly Entry[],
  index: LogProjection,
  kept: ReadonlySet<number>,
  hasInverse: (tool: string) => boolean,
): readonly RestatedEntry[] {
  const deltas = deltasOf(index, kept);
  const restated = [...deltas].flatMap(([version, records]) => {
    const checkpoint = index.checkpoints.get(version)?.record;
    return checkpoint ? [...records, checkpoint] : records;
  });
  const needed = neededCalls(index, restated, kept, hasInverse);
  let order = -1;
  return entries.flatMap(({ position, generation, checksum, records }): readonly RestatedEntry[] => {
    const left = (records as readonly AgentRecord[]).flatMap((record): readonly AgentRecord[] => {
      order++;
      if (record.kind === "checkpoint")
        return kept.has(record.version) ? [...(deltas.get(record.version) ?? []), record] : [];
      return isKept(record, order, index, needed) ? [record] : [];
    });
    return left.length === 0 ? [] : [{ position, generation, checksum, records: left }];
  });
}

function isKept(record: AgentRecord, order: number, { latest }: LogProjection, needed: NeededCalls): boolean {
  if (record.kind === "snapshot" || record.kind === "pruned") return false;
  if (record.kind === "answer" || record.kind === "intent" || record.kind === "outcome") return needed.has(record);
  if (!stateKinds.has(record.kind)) return true;
  // No checkpoint restates what follows the head.
  return latest !== undefined && order > latest.order && "lane" in record && record.lane === latest.record.lane;
}

function deltasOf(index: LogProjection, kept: ReadonlySet<number>): ReadonlyMap<number, readonly AgentRecord[]> {
  const points = [...kept].flatMap((version) => index.checkpoints.get(version) ?? []).sort((a, b) => a.order - b.order);
  const lastOfLane = new Map<number, LaneState>();
  const deltas = new Map<number, readonly AgentRecord[]>();
  for (const point of points) {
    const { lane } = point.record;
    const state = laneStateAt(index, point);
    if (!state) throw new RangeError(`Checkpoint ${point.id} begins before what was read.`);
    deltas.set(point.version, stateDelta(lastOfLane.get(lane) ?? laneStart(index, lane), state, lane));
    lastOfLane.set(lane, state);
  }
  return deltas;
}

function laneStart(index: LogProjection, lane: number): LaneState {
  const start = index.lanes.get(lane)?.record;
  const from = start?.from === undefined ? undefined : index.checkpoints.get(start.from);
  return stateAtStart(from && laneStateAt(index, from), start?.keep ?? "nothing");
}

function laneStateAt(index: LogProjection, point: CheckpointPoint): LaneState | undefined {
  const state = foldTo(index, point);
  const untrimmed = foldTo(index, point, { originals: true });
  return state && untrimmed && { ...state, originals: untrimmed.history };
}

/** Which recorded answers and calls are still needed. */
export interface NeededCalls {
  readonly has: (record: AnswerRecord | IntentRecord | OutcomeRecord) => boolean;
}

/**
 * What refers to an answer or a call needs it; so does a node that may run again; and a call whose effect remains, or may
 * remain, is needed by every rollback to before it.
 *
 * @param restated the records of kept checkpoints.
 * @param kept versions of kept checkpoints.
 */
export function neededCalls(
  index: LogProjection,
  restated: readonly AgentRecord[],
  kept: ReadonlySet<number>,
  hasInverse: (tool: string) => boolean,
): NeededCalls {
  const answers = new Set<string>();
  const calls = new Set<string>();
  for (const slot of restated.flatMap(referringSlots)) addReferences(slot, answers, calls);
  const again = visitsThatRunAgain(index, kept);
  const needed = callsOf(index).filter(
    (call) => calls.has(call.call) || again.has(call.visit[0]) || hasEffect(index, call, kept, hasInverse),
  );
  for (const { call } of needed) calls.add(call);
  const withoutInput = needed.filter(({ intent, outcome }) => !("input" in (intent ?? outcome ?? {})));
  const askedFor = new Set(withoutInput.map(({ call }) => call));
  const needsAnswer = (record: AnswerRecord): boolean =>
    answers.has(answerKey(record.visit, record.ordinal, record.within)) ||
    again.has(record.visit[0]) ||
    asksFor(record, askedFor);
  return { has: (record) => (record.kind === "answer" ? needsAnswer(record) : calls.has(record.call)) };
}

/** One that was reverted is shown by the kept checkpoints after it, and by nothing else. */
function hasEffect(
  index: LogProjection,
  call: RecordedCall & { readonly lane: number },
  kept: ReadonlySet<number>,
  hasInverse: (tool: string) => boolean,
): boolean {
  const { outcome } = call;
  if (outcome?.error || outcome?.unstarted) return false;
  const { tool, effect } = callFacts(call);
  if (effect === "none" && !hasInverse(tool)) return false;
  if (!index.reverted.has(call.call)) return true;
  return [...kept].some((version) => {
    const point = index.checkpoints.get(version);
    return point !== undefined && point.record.lane === call.lane && point.order > call.order;
  });
}

/** The visits of kept checkpoints that were made within one, and of the head. */
function visitsThatRunAgain(index: LogProjection, kept: ReadonlySet<number>): ReadonlySet<number> {
  const points = [...kept].flatMap((version) => index.checkpoints.get(version) ?? []);
  const within = points.filter((point) => point.record.visit !== undefined || point === index.latest);
  return new Set([...within.map((point) => visitAt(point)[0]), ...[...index.lanes.keys()].map((lane) => -lane)]);
}

function asksFor({ message }: AnswerRecord, calls: ReadonlySet<string>): boolean {
  if (calls.size === 0) return false;
  // Elsewhere or encoded: it may.
  if (envelopeKeyOf(message) !== undefined) return true;
  const { content } = message as { readonly content?: unknown };
  if (!Array.isArray(content)) return false;
  return content.some((part: { readonly toolCallId?: unknown }) => calls.has(String(part.toolCallId)));
}

function referringSlots(record: AgentRecord): readonly StoredValue[] {
  if (record.kind === "message") return [record.message];
  if (record.kind === "edit") return record.insert.map(({ message }) => message);
  return record.kind === "checkpoint" ? [record.input] : [];
}

function addReferences(slot: StoredValue, answers: Set<string>, calls: Set<string>): void {
  const key = envelopeKeyOf(slot);
  if (key === "$answer") answers.add(answerKeyOf((slot as { readonly $answer: AnswerReference }).$answer));
  if (key !== "$outcomes") return;
  for (const result of (slot as { readonly $outcomes: readonly StoredResult[] }).$outcomes)
    if (!("output" in result)) calls.add(String(result.part["toolCallId"]));
}

/** What of a state its lane's records make; calls and answers are records of their own. */
export type LaneState = Pick<AgentState, "history" | "storage" | "settings" | "requirements" | "decisions"> & {
  /** The history as it is without any trim. */
  readonly originals: readonly StoredMessage[];
};

const emptyLane: LaneState = { ...emptyState, originals: [] };

/** The state that a lane begins with, of that at the checkpoint it begins from. */
export function stateAtStart(from: LaneState | undefined, keep: "all" | "history" | "nothing"): LaneState {
  if (!from || keep === "nothing") return emptyLane;
  return keep === "all" ? from : { ...emptyLane, history: from.history, originals: from.originals };
}

/** The fewest records that lead from one state of a lane to a later one. */
export function stateDelta(before: LaneState, after: LaneState, lane: number): AgentRecord[] {
  const { settings, requirements } = after;
  const known = new Set(before.decisions);
  return [
    ...historyDelta(before, after, lane),
    ...storageDelta(before.storage, after.storage, lane),
    ...(settings && settings !== before.settings ? [{ ...settings, lane }] : []),
    ...(requirements && requirements !== before.requirements ? [{ ...requirements, lane }] : []),
    ...after.decisions.filter((decision) => !known.has(decision)),
  ];
}

/** First what leads to the originals, which every reader takes in, then what trims them, which readers of originals skip. */
function historyDelta(before: LaneState, after: LaneState, lane: number): AgentRecord[] {
  const { edits, appended } = changesTo(after.originals, before.originals);
  const grown = [...edits.reduce(applyEdit, before.history), ...appended];
  const trims = changesTo(after.history, grown);
  const records = [
    ...edits.map((edit) => ({ kind: "edit", lane, ...edit }) as const),
    ...appended.map((entry) => ({ kind: "message", lane, ...entry }) as const),
  ];
  const last = trims.appended.length > 0 ? [{ remove: [], insert: trims.appended }] : [];
  return [
    ...records,
    ...[...trims.edits, ...last].map((edit) => ({ kind: "edit", lane, ...edit, trim: true }) as const),
  ];
}

/** The edits, and the messages at the end, that lead from one history to another. */
interface HistoryChanges {
  readonly edits: readonly HistoryEdit<StoredMessage>[];
  readonly appended: readonly StoredMessage[];
}

/** What stays never changes its place, since a message that is moved gets another number. */
function changesTo(after: readonly StoredMessage[], before: readonly StoredMessage[]): HistoryChanges {
  const has = new Set(after.map(({ number }) => number));
  const staying = before.filter(({ number }) => has.has(number));
  const had = new Set(staying.map(({ number }) => number));
  // A reader of originals may have seen an edit in another place: then all of it is inserted anew.
  const order = after.filter(({ number }) => had.has(number));
  if (order.some(({ number }, at) => number !== staying[at]?.number))
    return { edits: [{ remove: rangesOf(before), insert: after }], appended: [] };
  const removed = before.filter(({ number }) => !has.has(number));
  const edits: HistoryEdit<StoredMessage>[] = removed.length > 0 ? [{ remove: rangesOf(removed), insert: [] }] : [];
  const end = after.findLastIndex(({ number }) => had.has(number)) + 1;
  const appended = after.slice(end).map(({ number, message }) => ({ number, message }));
  return { edits: [...edits, ...insertionsIn(after.slice(0, end), had)], appended };
}

/** The new messages, those next to each other together, each group before the message that follows it. */
function insertionsIn(after: readonly StoredMessage[], had: ReadonlySet<number>): HistoryEdit<StoredMessage>[] {
  const edits: HistoryEdit<StoredMessage>[] = [];
  let insert: StoredMessage[] = [];
  for (const entry of after) {
    if (!had.has(entry.number)) {
      insert.push(entry);
      continue;
    }
    if (insert.length > 0) edits.push({ remove: [], insert, before: entry.number });
    insert = [];
  }
  return edits;
}

function rangesOf(messages: readonly StoredMessage[]): (readonly [number, number])[] {
  return messages.map(({ number }) => [number, number]);
}

function storageDelta(before: LaneState["storage"], after: LaneState["storage"], lane: number): AgentRecord[] {
  const written = [...after].filter(([key, value]) => !before.has(key) || before.get(key) !== value);
  const gone = [...before.keys()].filter((key) => !after.has(key));
  return [
    ...written.map(([key, value]) => ({ kind: "storage", lane, key, value }) as const),
    ...gone.map((key) => ({ kind: "storage", lane, key }) as const),
  ];
}
