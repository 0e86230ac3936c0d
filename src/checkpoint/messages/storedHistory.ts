import type { StoredValue } from "../values/valueCodec.ts";

/** A message in its stored form. */
export interface StoredMessage {
  readonly number: number;
  readonly message: StoredValue;
}

/** Removes numbered messages, and inserts others before a kept one, or at the end. Ranges are inclusive. */
export interface HistoryEdit<Entry> {
  readonly remove: readonly (readonly [from: number, to: number])[];
  readonly insert: readonly Entry[];
  readonly before?: number;
}
