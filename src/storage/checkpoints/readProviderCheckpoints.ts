import { decodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { importCheckpoint } from "../../checkpoint/data/importCheckpoint.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storage/StorageError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { PersistenceStorageProvider } from "../PersistenceStorageProvider.ts";

/** An agent's checkpoints as a log of one append each. */
export interface StoredCheckpoints {
  readonly entries: Entry[];
  readonly index: LogProjection;
  /** The next owner's: above that of every generated checkpoint id. */
  readonly generation: number;
}

/** Reads all checkpoints of an agent from a provider of three methods and makes a log of them. */
export async function readProviderCheckpoints(
  provider: PersistenceStorageProvider,
  agentId: string,
  sha256: Sha256,
): Promise<StoredCheckpoints> {
  const stored = await askProvider("getCheckpoints", agentId, () => provider.getCheckpoints(agentId));
  const index = new LogProjection();
  const writer = new ValueWriter({ sha256, inlineThresholdBytes: Infinity });
  const entries: Entry[] = [];
  for (const data of stored) {
    const records = importCheckpoint(decodeCheckpoint(data), index, new Map(), writer);
    const entry = {
      position: entries.length + 1,
      generation: 1,
      id: `stored-${data.checkpointId}`,
      records,
      checksum: "",
      prev: "",
    };
    index.add(entry);
    entries.push(entry);
  }
  const generations = stored.map(({ checkpointId }) => Number(/^(\d{1,15})-\d+$/.exec(checkpointId)?.[1] ?? 0));
  return { entries, index, generation: Math.max(0, ...generations) + 1 };
}

/** What a user's provider throws becomes a typed error that names the call, unless it is one of ours. */
export async function askProvider<Result>(
  operation: string,
  agentId: string,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (AgentPersistenceError.isInstance(error)) throw error;
    throw new StorageError("unavailable", operation, `agent ${JSON.stringify(agentId)}`, { cause: error });
  }
}
