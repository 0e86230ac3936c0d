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

/** The history after an edit, as every reader of a log computes it. Absent numbers are ignored. */
export function applyEdit<Entry extends { readonly number: number }>(
  entries: readonly Entry[],
  edit: HistoryEdit<Entry>,
): Entry[] {
  const kept = entries.filter(({ number }) => !edit.remove.some(([from, to]) => number >= from && number <= to));
  const at = edit.before === undefined ? -1 : kept.findIndex(({ number }) => number === edit.before);
  kept.splice(at < 0 ? kept.length : at, 0, ...edit.insert);
  return kept;
}
