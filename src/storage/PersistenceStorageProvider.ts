import { z } from "zod";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { integerFrom, objectLike } from "../internal/options/optionSchemas.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import type { RecordLog } from "./RecordLog.ts";

/** A filter for checkpoints. A checkpoint must meet every given condition. */
export interface CheckpointFilter {
  /** Selects checkpoints whose next node has this path. */
  readonly nodeId?: string | undefined;
  /** Selects checkpoints with a higher version. */
  readonly afterVersion?: number | undefined;
  /** The maximum number of checkpoints, counted from the newest. Defaults to all. */
  readonly limit?: number | undefined;
}

const filterSchema = strictOptions(() => ({
  nodeId: z.string().optional(),
  afterVersion: z.number().optional(),
  limit: integerFrom(0).optional(),
}));

/**
 * The simple storage contract with three methods. The library passes checkpoints as plain JSON with encoded values, and
 * the provider may store them in any form. With this contract, an agent can only continue from a checkpoint. Implement
 * `RecordLog` instead to also journal tool calls and to lock agents for one owner.
 *
 * @example
 * ```ts
 * const checkpoints = new Map<string, AgentCheckpointData[]>();
 * const storage: PersistenceStorageProvider = {
 *   getCheckpoints: async (agentId) => checkpoints.get(agentId) ?? [],
 *   saveCheckpoint: async (agentId, checkpoint) =>
 *     void checkpoints.set(agentId, [...(checkpoints.get(agentId) ?? []), checkpoint]),
 *   getLatestCheckpoint: async (agentId) => checkpoints.get(agentId)?.findLast(({ branch }) => branch === undefined),
 * };
 * ```
 */
export interface PersistenceStorageProvider<in Filter = never> {
  /** Returns all checkpoints of an agent, oldest first. Returns an empty array for an unknown agent. */
  readonly getCheckpoints: (agentId: string, filter?: Filter) => Promise<readonly AgentCheckpointData[]>;
  /** Stores a checkpoint. The checkpoint is durable when the promise resolves. */
  readonly saveCheckpoint: (agentId: string, checkpoint: AgentCheckpointData) => Promise<void>;
  /**
   * Returns the newest checkpoint of the main line, which has no `branch`. `undefined` if the agent has no checkpoint.
   */
  readonly getLatestCheckpoint: (agentId: string, filter?: Filter) => Promise<AgentCheckpointData | undefined>;
}

export const providerSchema: z.ZodType<PersistenceStorageProvider> = objectLike(
  "a storage, such as new FilePersistenceStorageProvider({ directory })",
  "getCheckpoints",
  "saveCheckpoint",
  "getLatestCheckpoint",
);

/** Returns the checkpoints that match a filter, in the given order. @throws InvalidInputError */
export function filterCheckpoints<Data extends { readonly nodeId: string; readonly version: number }>(
  checkpoints: readonly Data[],
  filter: CheckpointFilter = {},
): readonly Data[] {
  checkSchema(filterSchema, filter, "checkpoint filter");
  const { nodeId, afterVersion, limit } = filter;
  const passing = checkpoints.filter(
    (data) =>
      (nodeId === undefined || data.nodeId === nodeId) && (afterVersion === undefined || data.version > afterVersion),
  );
  return limit === undefined ? passing : passing.slice(Math.max(0, passing.length - limit));
}

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
