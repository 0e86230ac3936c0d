import type { AgentRecord } from "../records/AgentRecord.ts";
import type { LaneRecord, EditRecord, MessageRecord, CheckpointPoint } from "../records/lineRecords.ts";
import { type AnswerRecord, asksFor, type IntentRecord, type OutcomeRecord } from "../records/callRecords.ts";
import type { ReplyRecord } from "../records/requestRecords.ts";
import type { Visit } from "../records/Visit.ts";
import type { EarlierLane } from "../records/SnapshotRecord.ts";
import { lanesTo } from "../lines/lineage.ts";
import { type AgentState, answerRecord, emptyState, visitAt } from "../state/AgentState.ts";
import { BranchChanges } from "../state/BranchChanges.ts";
import { foldTo, foldToFork } from "../state/foldTo.ts";
import { byValue } from "../state/leanState.ts";
import { lineValue } from "../state/lineValue.ts";
import type { LogProjection, OrderedRecord } from "../state/LogProjection.ts";
import { StateFold } from "../state/StateFold.ts";
import { envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";
import type { StoredMessage } from "../messages/LinkedHistory.ts";

/** Returns the checkpoint that starts the current node execution: for a repeated execution, the first of the lane. */
export function visitStart(index: LogProjection, lane: number): CheckpointPoint | undefined {
  const latest = index.latestOf(lane);
  const [base] = latest ? visitAt(latest) : [];
  const start = index.checkpoints.get(base ?? -1);
  if (start?.record.lane === lane && start.record.visit === undefined) return start;
  const first = firstCheckpoint(index, lane);
  return first?.record.visit?.[0] === base ? first : undefined;
}

export function lanesOfVisit(index: LogProjection, lane: number): readonly EarlierLane[] {
  const base = visitStart(index, lane)?.record.visit?.[0];
  if (base === undefined) return [];
  const lanes = new Set<number>([lane]);
  for (const at of lanes) {
    const from = index.checkpoints.get(index.lanes.get(at)?.record.from ?? -1);
    if (from && visitAt(from)[0] === base) lanes.add(from.record.lane);
    for (const before of index.earlierLanes.get(at) ?? []) lanes.add(before.lane);
  }
  return lanesTo(index, lane).filter((each) => each.lane !== lane && lanes.has(each.lane));
}

/** Returns the records of a lane since the execution of its node started, without references to earlier records. */
export function visitRecords(
  index: LogProjection,
  start: CheckpointPoint,
  state: AgentState,
): readonly OrderedRecord[] {
  const { lane } = start.record;
  const since = (index.laneRecords.get(lane) ?? []).filter(
    ({ record, order }) => order > start.order && !index.requests.isForgotten(record, order),
  );
  const calls = new Set(
    since.flatMap(({ record }) => (record.kind === "intent" && record.input === undefined ? [record.call] : [])),
  );
  const [repeated] = start.record.visit ?? [];
  const asking = [...state.answers.values()].filter((answer) => answer.visit[0] !== repeated && asksFor(answer, calls));
  return [
    ...asking.map((answer) => ({
      record: { ...answerRecord(answer), lane },
      position: start.position,
      order: start.order,
    })),
    ...since.map((ordered) => ({ ...ordered, record: withoutReferences(index, ordered) })),
  ];
}

interface Work {
  readonly order: number;
  readonly records: readonly (AnswerRecord | IntentRecord | OutcomeRecord | ReplyRecord)[];
}

/** Returns the records of the earlier attempt of a node that this lane repeats. */
export function repeatedRecords(
  index: LogProjection,
  { record: { lane, visit }, position, order }: CheckpointPoint,
  { answers, calls, requests }: AgentState,
): readonly OrderedRecord[] {
  if (visit === undefined) return [];
  const isOfVisit = (record: { readonly visit: Visit }): boolean => record.visit[0] === visit[0];
  const made = [...calls.values()].filter((call) => isOfVisit(call) && index.counts(call));
  // After a rollback, the node makes its open requests again, with new ids.
  const asked = [...requests.values()].filter(
    ({ record, reply }) => isOfVisit(record) && (reply !== undefined || record.lane === lane),
  );
  // Sorted in log order, because a replay delivers the recorded results in this order.
  const work: readonly Work[] = [
    ...[...answers.values()]
      .filter(isOfVisit)
      .map((answer) => ({ order: answer.order, records: [answerRecord(answer)] })),
    ...made.map((call) => ({ order: call.order, records: [call.intent ?? [], call.outcome ?? []].flat() })),
    ...asked.map(({ reply, repliedAt = 0 }) => ({ order: repliedAt, records: reply ? [reply] : [] })),
  ];
  const done = work.toSorted((a, b) => a.order - b.order).flatMap((each) => each.records);
  const records = [...asked.map(({ record }) => record), ...done];
  return records.map((record) => ({ record: { ...record, lane }, position, order }));
}

export function checkpointByValue(index: LogProjection, { record, order }: CheckpointPoint): CheckpointPoint["record"] {
  return { ...record, input: ownValue(index, record.lane, record.input, order) };
}

/**
 * Returns the records with which a snapshot contains an open branch or sub-agent.
 *
 * @returns `undefined` if the index lacks some of these records.
 */
export function restatedLine(index: LogProjection, lane: number): readonly OrderedRecord[] | undefined {
  const line = index.lines.nestedLine(lane);
  const start = visitStart(index, lane);
  const begun = line && index.lanes.get(line.first);
  const first = line && firstCheckpoint(index, line.first);
  if (!line || !start || !begun || !first) return undefined;
  const { keep } = begun.record;
  const changes = changedSince(index, { lane, keep, start });
  if (!changes) return undefined;
  const { from: _from, ...opening } = { ...begun.record, lane };
  const at = { position: first.position, order: first.order };
  const isFirst = first.version === start.version;
  const placed = (record: AgentRecord): OrderedRecord => ({ record, position: start.position, order: start.order });
  return [
    { record: opening, ...at },
    ...(isFirst ? [] : [{ record: { ...checkpointByValue(index, first), lane }, ...at }]),
    ...changes.records.map(placed),
    ...repeatedRecords(index, start, changes.state),
    placed(checkpointByValue(index, start)),
    ...visitRecords(index, start, changes.state),
  ];
}

interface LineSpan {
  readonly lane: number;
  readonly keep: LaneRecord["keep"];
  readonly start: CheckpointPoint;
}

interface LineDelta {
  readonly records: readonly AgentRecord[];
  readonly state: AgentState;
}

function changedSince(index: LogProjection, span: LineSpan): LineDelta | undefined {
  const line = index.lines.nestedLine(span.lane);
  const result = line && new BranchChanges(index, line);
  if (result && span.start.record.ended && result.history === undefined)
    return { records: recordsOf(result, span.lane), state: emptyState };
  const before = stateBefore(index, span);
  const state = foldTo(index, span.start);
  return before && state && { records: delta(span.lane, before, state), state };
}

function stateBefore(index: LogProjection, { lane, keep }: LineSpan): AgentState | undefined {
  const place = index.lines.nestedLine(lane)?.place;
  if (!place || !("fork" in place)) return emptyState;
  const state = foldToFork(index, place.fork);
  if (!state) return undefined;
  const fold = new StateFold();
  fold.restore(state);
  fold.beginLane(keep);
  return fold.state;
}

function recordsOf(
  { messages, storage, decisions, settings, requirements }: BranchChanges,
  lane: number,
): AgentRecord[] {
  return [
    ...messages.map((entry) => ({ kind: "message", lane, ...entry }) as const),
    ...[...storage].map(([key, change]) => ({ kind: "storage", lane, key, ...change }) as const),
    ...[settings, requirements, ...decisions].flatMap((record) => (record ? [{ ...record, lane }] : [])),
  ];
}

function delta(lane: number, before: AgentState, after: AgentState): readonly AgentRecord[] {
  const common = commonStart(before.history, after.history);
  const history = after.history
    .slice(common)
    .map(({ number, message }) => ({ number, message: byValue(message, after) }));
  const { settings, requirements, structure } = after;
  const changed = [
    settings === before.settings ? undefined : settings,
    requirements === before.requirements ? undefined : requirements,
    structure === before.structure ? undefined : structure,
    ...after.decisions.slice(before.decisions.length),
  ];
  return [
    ...historyDelta(lane, before.history.slice(common), history),
    ...storageDelta(lane, before, after),
    ...changed.flatMap((record) => (record ? [{ ...record, lane }] : [])),
  ];
}

/** Returns how many messages two histories have in common at their start. */
function commonStart(one: readonly StoredMessage[], other: readonly StoredMessage[]): number {
  let at = 0;
  while (at < one.length && one[at]?.number === other[at]?.number) at++;
  return at;
}

function storageDelta(lane: number, before: AgentState, after: AgentState): readonly AgentRecord[] {
  const gone = [...before.storage.keys()].filter((key) => !after.storage.has(key));
  const set = [...after.storage].filter(
    ([key, value]) => before.storage.get(key) !== value || !before.storage.has(key),
  );
  return [
    ...gone.map((key) => ({ kind: "storage", lane, key }) as const),
    ...set.map(([key, value]) => ({ kind: "storage", lane, key, value }) as const),
  ];
}

function firstCheckpoint(index: LogProjection, lane: number): CheckpointPoint | undefined {
  const { base } = index;
  if (base?.state.lane === lane) return base.state.checkpoint;
  const first = index.laneRecords.get(lane)?.find(({ record }) => record.kind === "checkpoint")?.record;
  return first?.kind === "checkpoint" ? index.checkpoints.get(first.version) : undefined;
}

function withoutReferences(index: LogProjection, { record, order }: OrderedRecord): AgentRecord {
  switch (record.kind) {
    case "message":
      return { ...record, message: lineValue(index, record.lane, record.message, order) };
    case "edit":
      return {
        ...record,
        insert: record.insert.map(({ number, message }) => ({
          number,
          message: lineValue(index, record.lane, message, order),
        })),
      };
    case "checkpoint":
      return { ...record, input: ownValue(index, record.lane, record.input, order) };
    default:
      return record;
  }
}

function ownValue(index: LogProjection, lane: number, slot: StoredValue, order: number): StoredValue {
  if (envelopeKeyOf(slot) === "$message" && typeof (slot as { readonly $message: unknown }).$message === "number")
    return slot;
  return lineValue(index, lane, slot, order);
}

/**
 * Returns the records that turn one history into another. Messages in both histories must have the same order. New
 * messages must have higher numbers than all messages of `before`.
 */
export function historyDelta(
  lane: number,
  before: readonly StoredMessage[],
  after: readonly StoredMessage[],
): readonly (EditRecord | MessageRecord)[] {
  const kept = new Set(after.map(({ number }) => number));
  const known = new Set(before.map(({ number }) => number));
  const remove = before.filter(({ number }) => !kept.has(number)).map(({ number }) => [number, number] as const);
  const records: (EditRecord | MessageRecord)[] = [];
  if (remove.length > 0) records.push({ kind: "edit", lane, remove, insert: [] });
  let run: StoredMessage[] = [];
  for (const entry of after) {
    if (!known.has(entry.number)) run.push(entry);
    else if (run.length > 0) {
      records.push({ kind: "edit", lane, remove: [], insert: run, before: entry.number });
      run = [];
    }
  }
  return [...records, ...run.map((entry) => ({ kind: "message", lane, ...entry }) as const)];
}
