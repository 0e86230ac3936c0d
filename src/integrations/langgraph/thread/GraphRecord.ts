import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { Json } from "../values/Json.ts";

/** Values that others refer to by number. They are numbered in the order of the log, from 0. */
export interface ItemsRecord {
  readonly kind: "items";
  readonly items: readonly StoredValue[];
  /** The number of the first. Absent: it follows the last one of the log. */
  readonly first?: number;
}

/** An item by its number, or a short value itself. */
export type ItemReference = number | { readonly v: Json };

/** A part of a list: one item, the items `[from, to)` of the list before, or those with the numbers `a` to `b`. */
export type Segment =
  | ItemReference
  | readonly [from: number, to: number]
  | { readonly r: readonly [a: number, b: number] };

/**
 * A value as what changed since the one before: a single item, a list (`l`), a map (`m`), a map with entries set and removed
 * (`e`), or one of these as the snapshot of a delta channel (`d`).
 */
export type ValueRecord =
  | ItemReference
  | { readonly l: readonly Segment[] }
  | { readonly m: readonly (readonly [key: string, item: ItemReference])[] }
  | { readonly e: readonly [set: readonly (readonly [key: string, item: ItemReference])[], removed: readonly string[]] }
  | { readonly d: ValueRecord };

/** The fields of an object as what changed since the one before. */
export interface FieldsChange {
  /** Fields that are new or other than before. */
  readonly s?: { readonly [name: string]: Json };
  /** Names of fields that are gone. */
  readonly d?: readonly string[];
}

/** A checkpoint as what changed since its parent. Puts are numbered in the order of the log, from 0. */
export interface PutRecord {
  readonly kind: "put";
  readonly id: string;
  /** Absent: the root graph. */
  readonly ns?: string;
  /** Its number. Absent: it follows the last one of the log. */
  readonly n?: number;
  /** The put that it changes. `null`: none. Absent: the last one of its namespace. */
  readonly from?: number | null;
  /** The id of the parent, where that is not the checkpoint of `from`: the thread does not have it. */
  readonly parent?: string;
  readonly ts: string;
  /** The version of LangGraph's format. Absent: 4. */
  readonly v?: number;
  /** Of LangGraph's metadata. */
  readonly meta?: FieldsChange;
  /** Of `channel_versions`. */
  readonly versions?: FieldsChange;
  /** Of `versions_seen`, by node. */
  readonly seen?: FieldsChange;
  /** Fields of the checkpoint that this version does not know. */
  readonly more?: { readonly [name: string]: Json };
  /** Channels with another value than the parent's. */
  readonly set?: { readonly [channel: string]: ValueRecord };
  /** Channels of the parent without a value. */
  readonly unset?: readonly string[];
  /** True when it was pruned, and is kept for what later checkpoints replay of it. */
  readonly hidden?: true;
}

/** Writes of a task, made after a checkpoint. */
export interface WritesRecord {
  readonly kind: "writes";
  /** The put that they follow, or the id of a checkpoint that is yet to be put. */
  readonly of: number | string;
  /** Of a checkpoint that is yet to be put. Absent: the root graph. */
  readonly ns?: string;
  readonly task: string;
  /** Absent: `""`. */
  readonly path?: string;
  readonly w: readonly WriteEntry[];
}

/** One write. Absent `index`: it is its place in the record. */
export type WriteEntry = readonly [channel: string, value: ValueRecord, index?: number];

/** Checkpoints that are gone from now on. */
export interface ForgetRecord {
  readonly kind: "forget";
  /** Puts, with their writes. */
  readonly drop: readonly number[];
  /** Puts that stay hidden, with the channels of which values and writes are still needed. */
  readonly hide: readonly (readonly [put: number, channels: readonly string[]])[];
}

/** A call of a durable tool, made by a task. It takes the place of one that was recorded for the same place of the task. */
export interface CallRecord {
  readonly kind: "call";
  /** The library's id of the call. */
  readonly call: string;
  /** The put that the task follows. */
  readonly of: number;
  readonly task: string;
  /** The place of the call in its task. */
  readonly at: string;
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** Of the input. */
  readonly digest: string;
  /** As the caller wrote it. */
  readonly input: StoredValue;
  /** How it ended. Absent: it begins, and may have its effect from now on. */
  readonly end?: CallEnd;
}

/** The end of a call that began. The last one counts. */
export interface CallEndRecord {
  readonly kind: "call_end";
  readonly call: string;
  readonly end: CallEnd;
}

/** How a call ended. With none of `output`, `command`, `error`, `unknown` and `lost`, it is to be made again. */
export interface CallEnd {
  readonly output?: StoredValue;
  /** A `Command` of LangGraph that it returned. */
  readonly command?: StoredValue;
  /** It failed, with this message. */
  readonly error?: string;
  readonly unknown?: true;
  /** It had its effect, and returned what cannot be stored. */
  readonly lost?: { readonly path: string; readonly reason: string };
  /** What said so, where its own end was not recorded. */
  readonly settled?: "probe" | "handler" | "outside";
}

export type GraphRecord = ItemsRecord | PutRecord | WritesRecord | ForgetRecord | CallRecord | CallEndRecord;

/** Whether a call that ended so is to be made again. */
export function isMadeAgain({ output, command, error, unknown, lost }: CallEnd): boolean {
  return [output, command, error, unknown, lost].every((part) => part === undefined);
}

/** The values that stand in a record itself. */
export function valuesOfRecord(record: GraphRecord): readonly StoredValue[] {
  if (record.kind === "items") return record.items;
  if (record.kind !== "call" && record.kind !== "call_end") return [];
  const { output, command } = record.end ?? {};
  const values = record.kind === "call" ? [record.input, output, command] : [output, command];
  return values.filter((value) => value !== undefined);
}

/** The record with others in place of its {@link valuesOfRecord}. */
export function withValues(record: GraphRecord, values: readonly StoredValue[]): GraphRecord {
  if (record.kind === "items") return { ...record, items: values };
  if (record.kind === "call") {
    const [input = null, returned = null] = values;
    return { ...record, input, ...(record.end && { end: returning(record.end, returned) }) };
  }
  return record.kind === "call_end" ? { ...record, end: returning(record.end, values[0] ?? null) } : record;
}

function returning(end: CallEnd, value: StoredValue): CallEnd {
  if (end.command !== undefined) return { ...end, command: value };
  return end.output === undefined ? end : { ...end, output: value };
}
