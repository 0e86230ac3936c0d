import type { Entry } from "../checkpoint/records/Entry.ts";
import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import { CorruptLogError } from "../errors/storage/CorruptLogError.ts";
import type { RecordLog } from "./RecordLog.ts";

/** An error about a damaged log with the last checkpoint before the damage; any other error as it is. */
export async function withLastCheckpoint(error: unknown, log: RecordLog, agentId: string): Promise<unknown> {
  if (!(error instanceof CorruptLogError)) return error;
  const lastCheckpointId = await lastReadable(log, agentId);
  if (lastCheckpointId === undefined) return error;
  const { file, line, lastPosition, found } = error;
  return new CorruptLogError(
    error.agentId,
    {
      file,
      ...(line !== undefined && { line }),
      ...(lastPosition !== undefined && { lastPosition }),
      lastCheckpointId,
    },
    found,
  );
}

function lastCheckpointOf({ generation, records }: Entry): string | undefined {
  const record = records.findLast(({ kind }) => kind === "checkpoint") as CheckpointRecord | undefined;
  return record && (record.id ?? `${generation}-${record.version}`);
}

async function lastReadable(log: RecordLog, agentId: string): Promise<string | undefined> {
  let last: string | undefined;
  try {
    for await (const entry of log.read(agentId)) last = lastCheckpointOf(entry) ?? last;
  } catch {
    // Here the damage begins.
  }
  return last;
}
