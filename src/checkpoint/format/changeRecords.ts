import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { HistoryChange, NumberedMessage } from "../messages/MessageHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { ValueWriter } from "./ValueWriter.ts";

export function historyRecords(changes: readonly HistoryChange[], lane: number, writer: ValueWriter): AgentRecord[] {
  return changes.flatMap((change): AgentRecord[] => {
    const written = (messages: readonly NumberedMessage[]) =>
      messages.map(({ number, message }) => ({ number, message: writer.message(message, `message ${number}`, lane) }));
    if (change.kind === "append")
      return written(change.messages).map((fields) => ({ kind: "message", lane, ...fields }));
    const { remove, insert, before, trim } = change;
    return [withoutUndefined({ kind: "edit", lane, remove, insert: written(insert), before, trim })];
  });
}

/** `undefined` marks a deleted key. @throws NotSerializableError */
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
