import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import type { CheckpointFilter, PersistenceStorageProvider } from "./PersistenceStorageProvider.ts";
import type { RecordLog } from "./RecordLog.ts";

/** The storage as the library uses it: a log, options for stored values, and decoded checkpoints. */
export interface LogStorage {
  readonly log: RecordLog;
  /** Values with more bytes than this are stored as blobs. `Infinity` disables blobs. */
  readonly inlineThresholdBytes: number;
  /** Blobs with more bytes than this are compressed. */
  readonly compressThresholdBytes: number;
  sha256(): Promise<Sha256>;
  /** Sorted from oldest to newest. */
  getCheckpoints(agentId: string, filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]>;
  /** `undefined` if the agent has no checkpoint. */
  getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined>;
}

/** Whether a provider offers a log. If so, the library uses the log and not the three methods. */
export function offersLog<Provider extends PersistenceStorageProvider>(
  provider: Provider,
): provider is Provider & LogStorage {
  const { log, sha256 }: Partial<LogStorage> = provider as Partial<LogStorage>;
  return typeof log?.open === "function" && typeof sha256 === "function";
}

/** Returns a storage that keeps all records. @throws NotSupportedError for any other storage */
export function withLog(storage: PersistenceStorageProvider, operation: string): LogStorage {
  if (offersLog(storage) && storage.log.capabilities.keeps === undefined) return storage;
  throw new NotSupportedError(operation, "a log of all records");
}
