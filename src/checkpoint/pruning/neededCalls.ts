import { asksFor, type AnswerRecord, type IntentRecord, type OutcomeRecord } from "../records/callRecords.ts";
import { callFacts } from "../data/RequestedCalls.ts";
import type { Pace } from "../../internal/nextTurn.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { headsOf } from "./neededCheckpoints.ts";
import { answerIn, answerKey } from "../records/Visit.ts";
import { type RecordedCall, visitAt } from "../state/AgentState.ts";
import { callsOf } from "../state/foldTo.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { callOfResult, resultsIn, type StoredValue } from "../values/valueCodec.ts";

/** The cost of a record, as the number of bytes that could be read in the same time. */
const bytesOfRecord = 128;

export type IsNeeded = (record: AnswerRecord | IntentRecord | OutcomeRecord) => boolean;

/**
 * Returns a test for the responses and calls that a pruned log keeps: a stored value refers to them, a repeated node
 * replays them, or a rollback must revert them. `kept` are versions of checkpoints, `restated` their states.
 */
export async function neededCalls(
  index: LogProjection,
  restated: readonly AgentRecord[],
  kept: ReadonlySet<number>,
  hasInverse: (tool: string) => boolean,
  pace: Pace,
): Promise<IsNeeded> {
  const answers = new Set<string>();
  const calls = new Set<string>();
  for (const record of restated) {
    for (const slot of referringSlots(record)) addReferences(slot, answers, calls);
    await pace.after(bytesOfRecord);
  }
  const again = visitsThatRunAgain(index, kept);
  const isShown = shownAfter(index, kept);
  const all = callsOf(index);
  for (const call of all)
    if (again.has(call.visit[0]) || hasEffect(index, call, isShown, hasInverse)) calls.add(call.call);
  const lanes = all.flatMap(({ call, lane }) => (calls.has(call) ? [lane] : []));
  const points = [...kept].flatMap((version) => index.checkpoints.get(version)?.record.lane ?? []);
  for (const call of callersOf(index, [...lanes, ...points])) calls.add(call);
  const needed = all.filter(({ call }) => calls.has(call));
  const withoutInput = needed.filter(({ intent, outcome }) => !("input" in (intent ?? outcome ?? {})));
  const askedFor = new Set(withoutInput.map(({ call }) => call));
  const needsAnswer = (record: AnswerRecord): boolean =>
    answers.has(answerKey(record.visit, record.ordinal, record.within)) ||
    again.has(record.visit[0]) ||
    asksFor(record, askedFor);
  return (record) => (record.kind === "answer" ? needsAnswer(record) : calls.has(record.call));
}

/** Returns the calls of the enclosing sub-agents, which show to which agent a call or checkpoint belongs. */
function callersOf({ lines }: LogProjection, lanes: Iterable<number>): ReadonlySet<string> {
  const callers = new Set<string>();
  for (const lane of new Set(lanes))
    for (const { place } of lines.around(lane)) if ("call" in place) callers.add(place.call);
  return callers;
}

type LaneCall = RecordedCall & { readonly lane: number };

/** Returns whether a call had an effect that counts. A reverted call counts if a later kept checkpoint shows it. */
function hasEffect(
  index: LogProjection,
  call: LaneCall,
  isShown: (call: LaneCall) => boolean,
  hasInverse: (tool: string) => boolean,
): boolean {
  const { outcome } = call;
  if ((outcome?.error && !outcome.late) || outcome?.unstarted) return false;
  const { tool, effect } = callFacts(call);
  if (effect === "none" && !hasInverse(tool)) return false;
  return !index.reverted.has(call.call) || isShown(call);
}

function shownAfter(index: LogProjection, kept: ReadonlySet<number>): (call: LaneCall) => boolean {
  const last = new Map<number, number>();
  for (const { version, record, order } of index.checkpoints.values())
    if (kept.has(version)) last.set(record.lane, order);
  return ({ lane, order }) => (last.get(lane) ?? -1) > order;
}

function visitsThatRunAgain(index: LogProjection, kept: ReadonlySet<number>): ReadonlySet<number> {
  const within = [...kept]
    .flatMap((version) => index.checkpoints.get(version) ?? [])
    .filter(({ record }) => record.visit);
  const again = [...within, ...headsOf(index)].map((point) => visitAt(point)[0]);
  return new Set([...again, ...[...index.lanes.keys()].map((lane) => -lane)]);
}

function referringSlots(record: AgentRecord): readonly StoredValue[] {
  if (record.kind === "message") return [record.message];
  if (record.kind === "edit") return record.insert.map(({ message }) => message);
  return record.kind === "checkpoint" ? [record.input] : [];
}

function addReferences(slot: StoredValue, answers: Set<string>, calls: Set<string>): void {
  const answer = answerIn(slot);
  if (answer !== undefined) answers.add(answer);
  for (const result of resultsIn(slot)) if (!("output" in result)) calls.add(callOfResult(result));
}
