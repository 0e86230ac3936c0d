import type { HistoryChange } from "../messages/MessageHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { ValueWriter } from "./ValueWriter.ts";

/** The records that say how a history changed. @throws NotSerializableError */
export function historyRecords(changes: readonly HistoryChange[], lane: number, writer: ValueWriter): AgentRecord[] {
  return changes.flatMap((change): AgentRecord[] => {
    if (change.kind === "append") {
      return change.messages.map(({ number, message }) => ({
        kind: "message",
        lane,
        number,
        message: writer.message(message, `message ${number}`),
      }));
    }
    const insert = change.insert.map(({ number, message }) => ({
      number,
      message: writer.message(message, `message ${number}`),
    }));
    return [
      {
        kind: "edit",
        lane,
        remove: change.remove,
        insert,
        ...(change.before !== undefined && { before: change.before }),
        ...(change.trim && { trim: true }),
      },
    ];
  });
}

/** The records that say which keys of the storage changed; `undefined` means deleted. @throws NotSerializableError */
export function storageRecords(
  changes: ReadonlyMap<string, { readonly value: unknown } | undefined>,
  lane: number,
  writer: ValueWriter,
): AgentRecord[] {
  return [...changes].map(([key, change]): AgentRecord => {
    if (change === undefined) return { kind: "storage", lane, key };
    return { kind: "storage", lane, key, value: writer.value(change.value, `storage key ${JSON.stringify(key)}`) };
  });
}
