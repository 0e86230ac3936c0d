import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { Json } from "../values/Json.ts";

/** Shared values that other records reference by number. Items are numbered in log order from 0. */
export interface ItemsRecord {
  readonly kind: "items";
  readonly items: readonly StoredValue[];
  /** The number of the first item. Defaults to the next number of the log. */
  readonly first?: number;
}

/** The number of an item, or a short value. */
export type ItemReference = number | { readonly v: Json };

/**
 * A part of a list: one item, the items at the positions `[from, to)` of the previous list, or the items with the
 * numbers `a` to `b`.
 */
export type ListSegment =
  | ItemReference
  | readonly [from: number, to: number]
  | { readonly r: readonly [a: number, b: number] };

/**
 * A value as the difference to the previous value. This is a single item, a list (`l`), a map (`m`), or the changed and
 * removed entries of a map (`e`). A snapshot of a delta channel (`d`) contains any of these.
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

/** A checkpoint as the difference to its parent. Puts are numbered in log order from 0. */
export interface PutRecord {
  readonly kind: "put";
  readonly id: string;
  /** Omitted for the root graph. */
  readonly ns?: string;
  /** The number of the put. Defaults to the next number of the log. */
  readonly n?: number;
  /** The base of the difference, or `null` without a base. Defaults to the last put of the namespace. */
  readonly from?: number | null;
  /** The id of the parent if the thread does not contain the parent and `from` is another checkpoint. */
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
  /** Channels with a value that differs from the parent's. */
  readonly set?: { readonly [channel: string]: ValueRecord };
  /** Channels that have a value in the parent only. */
  readonly unset?: readonly string[];
  /** `true` for a pruned checkpoint that later checkpoints still need for replay. */
  readonly hidden?: true;
}

export interface WritesRecord {
  readonly kind: "writes";
  /** The number of the put, or the id of a checkpoint that is not stored yet. */
  readonly of: number | string;
  /** The namespace of a checkpoint that is not stored yet. Omitted for the root graph. */
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
  /** The puts to hide, with the channels whose values and writes are still needed. */
  readonly hide: readonly (readonly [put: number, channels: readonly string[]])[];
}

/** A call of a durable tool. Replaces an earlier call at the same position of the task. */
export interface CallRecord {
  readonly kind: "call";
  /** The library's id of the call. */
  readonly call: string;
  /** The put that the task follows. */
  readonly of: number;
  readonly task: string;
  /** The position of the call in its task. */
  readonly at: string;
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  readonly digest: string;
  /** The input in the form that the caller passed. */
  readonly input: StoredValue;
  /** The outcome. Omitted in the record of the start. After that record, the call may take effect. */
  readonly end?: StoredCallEnd;
}

/** The outcome of a started call. The last record counts. */
export interface CallEndRecord {
  readonly kind: "call_end";
  readonly call: string;
  readonly end: StoredCallEnd;
}

/** The outcome of a call. Without `output`, `command`, `error`, `unknown` and `lost`, the call is to be repeated. */
export interface StoredCallEnd {
  readonly output?: StoredValue;
  readonly command?: StoredValue;
  readonly error?: string;
  readonly unknown?: true;
  /** The call took effect, but its output cannot be stored. */
  readonly lost?: { readonly path: string; readonly reason: string };
  /** The source of the outcome if the call itself recorded no outcome. */
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

/** Returns the record with its {@link valuesOfRecord} replaced. */
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
