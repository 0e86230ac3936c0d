import { z } from "zod";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";

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
 *   getLatestCheckpoint: async (agentId) => checkpoints.get(agentId)?.at(-1),
 * };
 * ```
 */
export interface PersistenceStorageProvider<in Filter = never> {
  /** Returns all checkpoints of an agent, oldest first. Returns an empty array for an unknown agent. */
  readonly getCheckpoints: (agentId: string, filter?: Filter) => Promise<readonly AgentCheckpointData[]>;
  /** Stores a checkpoint. The checkpoint is durable when the promise resolves. */
  readonly saveCheckpoint: (agentId: string, checkpoint: AgentCheckpointData) => Promise<void>;
  /** Returns the checkpoint with the highest version. `undefined` if the agent has no checkpoint. */
  readonly getLatestCheckpoint: (agentId: string, filter?: Filter) => Promise<AgentCheckpointData | undefined>;
}

export const providerSchema: z.ZodType<PersistenceStorageProvider> = objectWithMethods(
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
