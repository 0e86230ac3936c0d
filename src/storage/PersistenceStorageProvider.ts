import { z } from "zod";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";

/** Which checkpoints to read. */
export interface CheckpointFilter {
  /** Only those whose next node is this path. */
  readonly nodeId?: string | undefined;
  /** Only those with a higher version. */
  readonly afterVersion?: number | undefined;
  /** At most this many, the newest; default all. */
  readonly limit?: number | undefined;
}

const filterSchema = strictOptions({
  nodeId: z.string().optional(),
  afterVersion: z.number().optional(),
  limit: integerFrom(0).optional(),
});

/**
 * The simple contract of a storage: three methods. A provider of one's own gets and returns checkpoints as plain JSON,
 * rich values already encoded; it may keep them as it likes. Everything then works at the granularity of checkpoints.
 * What more a storage can carry, journaled tool calls and owners told apart, is in `RecordLog`.
 */
export interface PersistenceStorageProvider<in Filter = never> {
  /** All checkpoints of an agent, oldest first; empty for one never seen. */
  readonly getCheckpoints: (agentId: string, filter?: Filter) => Promise<readonly AgentCheckpointData[]>;
  /** Keeps a checkpoint; durable when resolved. */
  readonly saveCheckpoint: (agentId: string, checkpoint: AgentCheckpointData) => Promise<void>;
  /** The checkpoint with the highest version; `undefined` when there is none. */
  readonly getLatestCheckpoint: (agentId: string, filter?: Filter) => Promise<AgentCheckpointData | undefined>;
}

export const providerSchema: z.ZodType<PersistenceStorageProvider> = objectWithMethods(
  "getCheckpoints",
  "saveCheckpoint",
  "getLatestCheckpoint",
);

/** The checkpoints that pass a filter, in the order given. @throws InvalidInputError for a filter that is none. */
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
