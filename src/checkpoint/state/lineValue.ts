import { addToGroup } from "../../internal/addToGroup.ts";
import { originOf } from "../records/lineRecords.ts";
import { answerKeyOf, answerKey } from "../records/Visit.ts";
import {
  type AnswerReference,
  envelopeKeyOf,
  type MessageReference,
  type StoredValue,
  withOutputs,
} from "../values/valueCodec.ts";
import type { AgentState } from "./AgentState.ts";
import type { LogProjection, OrderedRecord } from "./LogProjection.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";

interface LinePlace {
  readonly lane: number;
  readonly upTo: number;
}

interface Found extends LinePlace {
  readonly value: StoredValue;
}

/** The maximum number of consecutive references. In a forged log, references can form a cycle. */
const mostReferences = 1_000;

/** Returns a value without references, except to blobs and missing records. Reading a missing record throws. */
export function lineValue(index: LogProjection, lane: number, slot: StoredValue, upTo = Infinity): StoredValue {
  return resolved(index, { value: slot, lane, upTo }, mostReferences);
}

function resolved(index: LogProjection, { value, ...at }: Found, left: number): StoredValue {
  if (envelopeKeyOf(value) === "$outcomes")
    return withOutputs(value, (call) => {
      const found = find(index, { kind: "outcome", key: call }, at);
      return found && { output: found.value };
    });
  const reference = referenceIn(value, at.lane);
  if (!reference) return value;
  const found = find(index, reference, reference.lane === at.lane ? at : { lane: reference.lane, upTo: Infinity });
  return found && left > 0 ? resolved(index, found, left - 1) : value;
}

function referenceIn(slot: StoredValue, own: number): (ContentKey & { readonly lane: number }) | undefined {
  const key = envelopeKeyOf(slot);
  if (key === "$answer") {
    const reference = (slot as { readonly $answer: AnswerReference }).$answer;
    return { kind: "answer", key: answerKeyOf(reference), lane: reference[4] ?? own };
  }
  if (key !== "$message") return undefined;
  const { $message: reference } = slot as { readonly $message: MessageReference };
  const [number, lane] = typeof reference === "number" ? [reference, own] : reference;
  return { kind: "message", key: number, lane };
}

function find(index: LogProjection, key: ContentKey, from: LinePlace): Found | undefined {
  let at: LinePlace | undefined = from;
  for (let left = index.lanes.size; at !== undefined && left >= 0; left--) {
    const content = contentsOn(index, at.lane)?.find(key, at.upTo);
    if (content) return { value: content.value, lane: at.lane, upTo: content.order };
    if (index.base?.state.lane === at.lane) return inState(index.base.state, key, at);
    at = placeBefore(index, at.lane);
  }
  return undefined;
}

function placeBefore({ lanes, checkpoints }: LogProjection, lane: number): LinePlace | undefined {
  const start = lanes.get(lane)?.record;
  const origin = start && originOf(start);
  const point = origin === undefined ? undefined : checkpoints.get(origin);
  return point && { lane: point.record.lane, upTo: point.order };
}

function inState({ history, answers, calls }: AgentState, { kind, key }: ContentKey, at: LinePlace): Found | undefined {
  if (kind === "message") {
    const entry = history.find(({ number }) => number === key);
    return entry && { ...at, value: entry.message };
  }
  const record = kind === "answer" ? answers.get(String(key)) : calls.get(String(key))?.outcome;
  if (!record) return undefined;
  return { ...at, value: record.kind === "answer" ? record.message : record.output };
}

interface Content {
  readonly value: StoredValue;
  readonly order: number;
}

/** What a reference names: a message by number, a response by its key, or an outcome or a tool by its call id. */
interface ContentKey {
  readonly kind: "message" | "answer" | "outcome" | "tool";
  readonly key: number | string;
}

/** The values of one lane that references can name. Each record is read once, when a value is first needed. */
class LaneContents {
  readonly #records: readonly OrderedRecord[];
  readonly #contents = new Map<string, Content[]>();
  #at = 0;

  constructor(records: readonly OrderedRecord[]) {
    this.#records = records;
  }

  find({ kind, key }: ContentKey, upTo: number): Content | undefined {
    for (; this.#at < this.#records.length; this.#at++) this.#add(this.#records[this.#at] as OrderedRecord);
    return this.#contents.get(`${kind} ${key}`)?.findLast(({ order }) => order <= upTo);
  }

  #add({ record, order }: OrderedRecord): void {
    for (const [{ kind, key }, value] of contentsOf(record))
      addToGroup(this.#contents, `${kind} ${key}`, { value, order });
  }
}

function contentsOf(record: AgentRecord): readonly (readonly [ContentKey, StoredValue])[] {
  switch (record.kind) {
    case "message":
      return [[{ kind: "message", key: record.number }, record.message]];
    case "edit":
      return record.insert.map(({ number, message }) => [{ kind: "message", key: number }, message]);
    case "answer":
      return [[{ kind: "answer", key: answerKey(record.visit, record.ordinal, record.within) }, record.message]];
    case "intent":
      return [[{ kind: "tool", key: record.call }, record.tool]];
    case "outcome":
      return [[{ kind: "outcome", key: record.call }, record.output]];
    default:
      return [];
  }
}

const known = new WeakMap<readonly OrderedRecord[], LaneContents>();

export function contentsOn({ laneRecords }: LogProjection, lane: number): LaneContents | undefined {
  const records = laneRecords.get(lane);
  if (!records) return undefined;
  const contents = known.get(records) ?? new LaneContents(records);
  known.set(records, contents);
  return contents;
}
