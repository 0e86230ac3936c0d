import { addValueReferences } from "../checkpoint/blobReferences.ts";
import type { BlobCell } from "../checkpoint/BlobCell.ts";
import type { Entry } from "../checkpoint/Entry.ts";
import { effectiveEntries } from "../checkpoint/pruning/effectiveEntries.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { BlobTexts } from "../checkpoint/SlotReader.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

/** The blobs that large values of notes are in. */
export async function readNoteTexts(log: RecordLog, agentId: string, stored: readonly Entry[]): Promise<BlobTexts> {
  const references = new Map<string, BlobCell>();
  for (const { records } of effectiveEntries(stored))
    for (const record of records as readonly AgentRecord[])
      if (record.kind === "note") addValueReferences(record, references);
  return (await AgentLog.ofValues(log, agentId, references)).blobs;
}
