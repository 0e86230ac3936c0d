import { visitAt, withRecord, type RecordedCall } from "../state/AgentState.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { answerKey, answerKeyOf } from "../records/Visit.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import { callFacts } from "../data/toolCalls.ts";
import { type AnswerReference, envelopeKeyOf, type StoredResult, type StoredValue } from "../values/valueCodec.ts";

/** Which recorded answers and calls are still needed. */
export interface NeededCalls {
  readonly has: (record: AnswerRecord | IntentRecord | OutcomeRecord) => boolean;
}

type CallOnLane = RecordedCall & { readonly lane: number };

/**
 * What refers to an answer or a call needs it; so does a node that may run again; and a call whose effect stands, or may
 * stand, is needed by every rollback to before it.
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
  const askedFor = new Set(
    needed.filter(({ intent, outcome }) => !("input" in (intent ?? outcome ?? {}))).map(({ call }) => call),
  );
  return {
    has: (record) =>
      record.kind === "answer"
        ? answers.has(answerKey(record.visit, record.ordinal, record.within)) ||
          again.has(record.visit[0]) ||
          asksFor(record, askedFor)
        : calls.has(record.call),
  };
}

function callsOf(index: LogProjection): readonly CallOnLane[] {
  const calls = new Map<string, CallOnLane>();
  for (const [lane, records] of index.laneRecords) {
    for (const { record, order } of records) {
      if (record.kind !== "intent" && record.kind !== "outcome") continue;
      const base: CallOnLane = { ...calls.get(record.call), call: record.call, visit: record.visit, order, lane };
      calls.set(record.call, withRecord(base, record));
    }
  }
  return [...calls.values()];
}

/** One that was taken back is shown by the kept checkpoints after it, and by nothing else. */
function hasEffect(
  index: LogProjection,
  call: CallOnLane,
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
