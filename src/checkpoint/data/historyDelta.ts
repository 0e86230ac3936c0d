import type { StoredMessage } from "../messages/storedHistory.ts";
import type { EditRecord, MessageRecord } from "../records/lineRecords.ts";

/**
 * Returns the records that turn one history into another. Common messages must have the same order.
 *
 * @param before Ends before every number that is only in `after`.
 */
export function historyDelta(
  lane: number,
  before: readonly StoredMessage[],
  after: readonly StoredMessage[],
): readonly (EditRecord | MessageRecord)[] {
  const kept = new Set(after.map(({ number }) => number));
  const known = new Set(before.map(({ number }) => number));
  const remove = before.filter(({ number }) => !kept.has(number)).map(({ number }) => [number, number] as const);
  const records: (EditRecord | MessageRecord)[] = [];
  if (remove.length > 0) records.push({ kind: "edit", lane, remove, insert: [] });
  let run: StoredMessage[] = [];
  for (const entry of after) {
    if (!known.has(entry.number)) run.push(entry);
    else if (run.length > 0) {
      records.push({ kind: "edit", lane, remove: [], insert: run, before: entry.number });
      run = [];
    }
  }
  return [...records, ...run.map((entry) => ({ kind: "message", lane, ...entry }) as const)];
}
