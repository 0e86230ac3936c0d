import type { AgentRecord } from "../records/AgentRecord.ts";
import { answerKey } from "../records/Visit.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { LogProjection, OrderedRecord } from "./LogProjection.ts";

interface Content {
  readonly value: StoredValue;
  readonly order: number;
}

/** The key of a message (number), a response (key), an outcome or the tool of an intent (call id). */
export interface ContentKey {
  readonly kind: "message" | "answer" | "outcome" | "tool";
  readonly key: number | string;
}

/** The values on one lane that records refer to. Each record is read once, when it is first needed. */
export class LaneContents {
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
    for (const [{ kind, key }, value] of contentsOf(record)) {
      const known = this.#contents.get(`${kind} ${key}`);
      if (known) known.push({ value, order });
      else this.#contents.set(`${kind} ${key}`, [{ value, order }]);
    }
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
