import type { StoredValue } from "../values/valueCodec.ts";

export interface StoredMessage {
  readonly number: number;
  readonly message: StoredValue;
}

/** Removes inclusive ranges of messages, and inserts others before a kept message or at the end. */
export interface HistoryEdit<Entry> {
  readonly remove: readonly (readonly [from: number, to: number])[];
  readonly insert: readonly Entry[];
  readonly before?: number;
}
