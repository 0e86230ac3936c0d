import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { CheckpointFilter, PersistenceStorageProvider } from "./PersistenceStorageProvider.ts";
import type { RecordLog } from "./RecordLog.ts";

/** What the library uses of every storage: a log, how values are stored in it, and its checkpoints, decoded. */
export interface LogStorage {
  readonly log: RecordLog;
  /** Values of more bytes than this are stored as blobs. `Infinity`: never. */
  readonly inlineThresholdBytes: number;
  /** Blobs of more bytes than this are compressed. */
  readonly compressThresholdBytes: number;
  sha256(): Promise<Sha256>;
  /** Oldest first. */
  getCheckpoints(agentId: string, filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]>;
  /** `undefined` when the agent has none. */
  getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined>;
}

/** Whether a provider offers a log, which the library then uses instead of the three methods. */
export function offersLog<Provider extends PersistenceStorageProvider>(
  provider: Provider,
): provider is Provider & LogStorage {
  const { log, sha256 }: Partial<LogStorage> = provider as Partial<LogStorage>;
  return typeof log?.open === "function" && typeof sha256 === "function";
}
