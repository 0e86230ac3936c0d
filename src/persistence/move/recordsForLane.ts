import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { SlotWriter } from "../../checkpoint/slots/SlotWriter.ts";
import { envelopeKeyOf, type Slot } from "../../checkpoint/values/valueCodec.ts";

/**
 * Unsaved records of a line as records of the next: messages that refer to answers and outcomes of the line are written by
 * value, since the next line does not have those. One that has left the history since is not needed any more.
 */
export function recordsForLane(
  records: readonly AgentRecord[],
  lane: number,
  history: MessageHistory,
  writer: SlotWriter,
): AgentRecord[] {
  const messages = new Map(history.entries.map(({ number, message }) => [number, message]));
  const byValue = <Entry extends { readonly number: number; readonly message: Slot }>(entry: Entry): Entry =>
    refers(entry.message) ? { ...entry, message: valueOf(messages.get(entry.number), writer) } : entry;
  return records.map((record): AgentRecord => {
    if (record.kind === "message") return { ...byValue(record), lane };
    if (record.kind === "edit") return { ...record, insert: record.insert.map(byValue), lane };
    return "lane" in record && record.kind !== "lane" ? { ...record, lane } : record;
  });
}

function refers(slot: Slot): boolean {
  const key = envelopeKeyOf(slot);
  return key === "$answer" || key === "$outcomes";
}

function valueOf(message: Message | undefined, writer: SlotWriter): Slot {
  return message ? writer.byValue(message, "a message") : null;
}
