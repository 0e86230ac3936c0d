import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";

/** The first and the last number of consecutive items. */
export type NumberRange = readonly [first: number, last: number];

/** Replaces a range of items. Adding, removing and rewriting items all use this record. */
export interface SpliceRecord {
  readonly kind: "splice";
  /** The index of the first removed item or of the insertion, from 0. */
  readonly at: number;
  /** The number of removed items. Defaults to 0. */
  readonly drop?: number;
  /** The new items. Omitted if items are only removed. */
  readonly items?: readonly StoredValue[];
  /** The number of the first new item. Defaults to the next unused number. */
  readonly first?: number;
}

/** An applied transaction. Appended together with its change. */
export interface TransactionRecord {
  readonly kind: "transaction";
  readonly operation: string;
  /** The digest of the transaction, which detects another transaction with the same id. */
  readonly digest: string;
}

/** Removes all items and transactions. Item numbers and the progress of durable runs continue. */
export interface ClearRecord {
  readonly kind: "clear";
  readonly next: number;
}

/** The progress of a durable run. Appended together with the last counted change. */
export interface ProgressRecord {
  readonly kind: "progress";
  /** Identifies the run and, if a tool call uses the session, that call. */
  readonly run: string;
  /**
   * The progress of a run. Each added item counts one, and each other change counts one. If the number is lower than
   * before, the run was set back and makes its later changes again.
   */
  readonly done: number;
  /** The numbers of the items that the run added since its last record. */
  readonly added?: readonly NumberRange[];
  /** The numbers of all items of the session, which the change removed. Omitted if the change only added items. */
  readonly dropped?: readonly NumberRange[];
}

/** The provider's ids of calls that durable runs added. Appended together with their items. */
export interface CallIdsRecord {
  readonly kind: "call_ids";
  readonly ids: readonly CallId[];
}

/** The id of a call in the session and the provider's id, which may repeat. */
export type CallId = readonly [call: string, provided: string];

export type SessionRecord = SpliceRecord | TransactionRecord | ClearRecord | ProgressRecord | CallIdsRecord;

/** A stored item. Its number never changes. */
export interface SessionItem {
  readonly number: number;
  readonly value: StoredValue;
}

export function rangesOf(items: readonly Pick<SessionItem, "number">[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const { number } of items) {
    const open = ranges.at(-1);
    if (open && open[1] + 1 === number) open[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

export function numbersIn(given: readonly NumberRange[]): number[] {
  return given.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
