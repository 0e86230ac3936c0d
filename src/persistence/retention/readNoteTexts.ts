import { addValueReferences } from "../../checkpoint/fold/blobReferences.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { Entry } from "../../checkpoint/format/Entry.ts";
import { effectiveEntries } from "../../checkpoint/pruning/effectiveEntries.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { BlobTexts } from "../../checkpoint/fold/SlotReader.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

/** The blobs that large values of notes are in. */
export async function readNoteTexts(log: RecordLog, agentId: string, stored: readonly Entry[]): Promise<BlobTexts> {
  const references = new Map<string, BlobCell>();
  for (const { records } of effectiveEntries(stored))
    for (const record of records as readonly AgentRecord[])
      if (record.kind === "note") addValueReferences(record, references);
  return (await AgentLog.ofValues(log, agentId, references)).blobs;
}
