import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { CorruptBlobError } from "../../errors/storage/CorruptBlobError.ts";
import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { UnsupportedFormatError } from "../../errors/storage/UnsupportedFormatError.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/** A checkpoint, or what keeps it from being read; neither: there is none. */
export interface StoredCheckpoint {
  readonly data?: AgentCheckpointData | undefined;
  readonly damage?: unknown;
}

/** Reads one checkpoint; default: the newest. Damage is given back, what the storage itself fails with is thrown. */
export async function readStored(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<StoredCheckpoint> {
  try {
    if (checkpointId === undefined) return { data: await setup.storage.getLatestCheckpoint(agentId) };
    const all = await setup.storage.getCheckpoints(agentId);
    return { data: all.find((data) => data.checkpointId === checkpointId) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const data = checkpointId === undefined ? undefined : await readBefore(error, setup, agentId, checkpointId);
    return data ? { data } : { damage: error };
  }
}

/** Whether an error tells of what is stored, and not of the storage. What is no error of ours comes from wrong shapes. */
export function isDamage(error: unknown): boolean {
  const kinds = [CorruptLogError, CorruptBlobError, UnreadableValueError, UnsupportedFormatError];
  return !AgentPersistenceError.isInstance(error) || kinds.some((kind) => error instanceof kind);
}

/** A checkpoint that stands before the damage is as good as it was. */
async function readBefore(
  damage: unknown,
  { log }: PersistenceSetup,
  agentId: string,
  checkpointId: string,
): Promise<AgentCheckpointData | undefined> {
  const upTo = damage instanceof CorruptLogError ? damage.lastPosition : undefined;
  if (upTo === undefined) return undefined;
  try {
    const read = await AgentLog.read(log, agentId, { upTo });
    const point = read.index.byId(checkpointId);
    return point && read.data(point);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}
