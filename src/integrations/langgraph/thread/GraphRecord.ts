import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { Json } from "../values/Json.ts";

/** Values that other records refer to by number. The values are numbered in the order of the log, from 0. */
export interface ItemsRecord {
  readonly kind: "items";
  readonly items: readonly StoredValue[];
  /** The number of the first item. Defaults to the lowest unused number of the log. */
  readonly first?: number;
}

/** The number of an item, or a short value. */
export type ItemReference = number | { readonly v: Json };

/** A part of a list: one item, the positions `[from, to)` of the previous list, or the item numbers `a` to `b`. */
export type ListSegment =
  | ItemReference
  | readonly [from: number, to: number]
  | { readonly r: readonly [a: number, b: number] };

/**
 * A value as the difference to the previous value: one item, a list (`l`), a map (`m`), or the changed and removed
 * entries of a map (`e`). A snapshot of a delta channel (`d`) contains one of these.
 */
export type ValueRecord =
  | ItemReference
  | { readonly l: readonly ListSegment[] }
  | { readonly m: readonly (readonly [key: string, item: ItemReference])[] }
  | { readonly e: readonly [set: readonly (readonly [key: string, item: ItemReference])[], removed: readonly string[]] }
  | { readonly d: ValueRecord };

/** The fields of an object as the difference to the previous one. */
export interface FieldsChange {
  /** New and changed fields. */
  readonly s?: { readonly [name: string]: Json };
  /** The names of removed fields. */
  readonly d?: readonly string[];
}

/** A checkpoint as the difference to another one. Checkpoints are numbered in the order of the log, from 0. */
export interface PutRecord {
  readonly kind: "put";
  readonly id: string;
  /** Omitted for the root graph. */
  readonly ns?: string;
  /** The number of the checkpoint. Defaults to the lowest unused number of the log. */
  readonly n?: number;
  /** The checkpoint that this difference applies to, or `null`. Defaults to the last one of the namespace. */
  readonly from?: number | null;
  /** The id of the parent, if it is not `from` because the thread does not contain the parent. */
  readonly parent?: string;
  readonly ts: string;
  /** The version of LangGraph's checkpoint format. Defaults to 4. */
  readonly v?: number;
  /** The change of LangGraph's metadata. */
  readonly meta?: FieldsChange;
  readonly versions?: FieldsChange;
  /** The changes of `versions_seen`, by node. */
  readonly seen?: FieldsChange;
  /** Checkpoint fields that this library does not know. */
  readonly more?: { readonly [name: string]: Json };
  /** Channels whose value differs from the checkpoint in `from`. */
  readonly set?: { readonly [channel: string]: ValueRecord };
  /** Channels that only the checkpoint in `from` has a value for. */
  readonly unset?: readonly string[];
  /** `true` for a pruned checkpoint whose delta channels later checkpoints still need. */
  readonly hidden?: true;
}

export interface WritesRecord {
  readonly kind: "writes";
  /** The number of the checkpoint, or its id if it is not stored yet. */
  readonly of: number | string;
  /** The namespace if `of` is an id. Omitted for the root graph. */
  readonly ns?: string;
  readonly task: string;
  /** Defaults to `""`. */
  readonly path?: string;
  readonly w: readonly WriteEntry[];
}

/** One write. `index` defaults to the position of the write in the record. */
export type WriteEntry = readonly [channel: string, value: ValueRecord, index?: number];

export interface ForgetRecord {
  readonly kind: "forget";
  readonly drop: readonly number[];
  /** The checkpoints to hide, with the channels whose values and writes are still needed. */
  readonly hide: readonly (readonly [put: number, channels: readonly string[]])[];
}

/** A call of a durable tool. Replaces an earlier call at the same position in the task. */
export interface CallRecord {
  readonly kind: "call";
  /** The library's id of the call. */
  readonly call: string;
  /** The number of the checkpoint that the task follows. */
  readonly of: number;
  readonly task: string;
  /** The position of the call in its task. */
  readonly at: string;
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  readonly digest: string;
  /** The input as the caller passed it. */
  readonly input: StoredValue;
  /** The outcome. Omitted in the record of a call that starts, and that can take effect from then on. */
  readonly end?: StoredCallEnd;
}

/** The outcome of a call that has started. The last record of a call counts. */
export interface CallEndRecord {
  readonly kind: "call_end";
  readonly call: string;
  readonly end: StoredCallEnd;
}

/** The outcome of a call. The call is repeated if `output`, `command`, `error`, `unknown` and `lost` are omitted. */
export interface StoredCallEnd {
  readonly output?: StoredValue;
  readonly command?: StoredValue;
  readonly error?: string;
  readonly unknown?: true;
  /** The call took effect, but its output cannot be stored. */
  readonly lost?: { readonly path: string; readonly reason: string };
  /** Who determined the outcome. Omitted if the call itself recorded the outcome. */
  readonly settled?: "probe" | "handler" | "outside";
}

export type GraphRecord = ItemsRecord | PutRecord | WritesRecord | ForgetRecord | CallRecord | CallEndRecord;

export function isMadeAgain({ output, command, error, unknown, lost }: StoredCallEnd): boolean {
  return [output, command, error, unknown, lost].every((part) => part === undefined);
}

export function valuesOfRecord(record: GraphRecord): readonly StoredValue[] {
  if (record.kind === "items") return record.items;
  if (record.kind !== "call" && record.kind !== "call_end") return [];
  const { output, command } = record.end ?? {};
  const values = record.kind === "call" ? [record.input, output, command] : [output, command];
  return values.filter((value) => value !== undefined);
}

/** Returns a record with other values in place of those that {@link valuesOfRecord} returns. */
export function withRecordValues(record: GraphRecord, values: readonly StoredValue[]): GraphRecord {
  if (record.kind === "items") return { ...record, items: values };
  if (record.kind === "call") {
    const [input = null, returned = null] = values;
    return { ...record, input, ...(record.end && { end: returning(record.end, returned) }) };
  }
  return record.kind === "call_end" ? { ...record, end: returning(record.end, values[0] ?? null) } : record;
}

function returning(end: StoredCallEnd, value: StoredValue): StoredCallEnd {
  if (end.command !== undefined) return { ...end, command: value };
  return end.output === undefined ? end : { ...end, output: value };
}
