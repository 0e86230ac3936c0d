import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";

/** The numbers of items that follow each other: the first and the last. */
export type NumberRange = readonly [first: number, last: number];

/** Replaces items of the history: those from a place on, by others. Adding, removing and rewriting are all this. */
export interface SpliceRecord {
  readonly kind: "splice";
  /** The place of the first removed item, or where the new ones go: from 0. */
  readonly at: number;
  /** How many are removed. Absent: none. */
  readonly drop?: number;
  /** The new items. Absent: none. */
  readonly items?: readonly StoredValue[];
  /** The number of the first new item. Absent: the next number that no item had. */
  readonly first?: number;
}

/** A transaction was applied. It stands in one append with what it changed. */
export interface TransactionRecord {
  readonly kind: "transaction";
  readonly operation: string;
  /** Of the transaction, to tell another one under the same id. */
  readonly digest: string;
}

/** The session has no items any more, and remembers no transactions. Numbers go on, and so do durable runs. */
export interface ClearRecord {
  readonly kind: "clear";
  /** The number of the next item. */
  readonly next: number;
}

/** How much of its changes a durable run has made. It stands in one append with the last of them. */
export interface ProgressRecord {
  readonly kind: "progress";
  /** The run, and the tool call in it that uses the session. */
  readonly run: string;
  /** Added items count one each, any other change counts one. 0: the run was set back, and begins anew. */
  readonly done: number;
  /** The numbers of the items that it has added since its last record. Absent: none. */
  readonly added?: readonly NumberRange[];
}

/** What the provider calls the calls that durable runs have added. It stands in one append with their items. */
export interface CallIdsRecord {
  readonly kind: "call_ids";
  readonly ids: readonly CallId[];
}

/** The id of a call in the session, and that of its provider, which may repeat. */
export type CallId = readonly [call: string, provided: string];

export type SessionRecord = SpliceRecord | TransactionRecord | ClearRecord | ProgressRecord | CallIdsRecord;
