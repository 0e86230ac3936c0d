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

export type GraphRecord = ItemsRecord | PutRecord | WritesRecord | ForgetRecord;
