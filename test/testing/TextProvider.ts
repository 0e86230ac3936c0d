import type { AgentCheckpointData } from "../../src/checkpoint/data/AgentCheckpointData.ts";
import {
  filterCheckpoints,
  type CheckpointFilter,
  type PersistenceStorageProvider,
} from "../../src/storage/PersistenceStorageProvider.ts";

/** A provider of three methods as a user might write it: one text for each checkpoint, in a table that outlives it. */
export class TextProvider implements PersistenceStorageProvider {
  readonly #table: Map<string, string[]>;

  constructor(table = new Map<string, string[]>()) {
    this.#table = table;
  }

  async saveCheckpoint(agentId: string, checkpoint: AgentCheckpointData): Promise<void> {
    this.#table.set(agentId, [...(this.#table.get(agentId) ?? []), JSON.stringify(checkpoint)]);
  }

  async getCheckpoints(agentId: string, filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    const texts = this.#table.get(agentId) ?? [];
    const checkpoints = texts.map((text) => JSON.parse(text) as AgentCheckpointData);
    return filterCheckpoints(checkpoints, filter);
  }

  async getLatestCheckpoint(agentId: string, filter?: CheckpointFilter): Promise<AgentCheckpointData | undefined> {
    return (await this.getCheckpoints(agentId, filter)).findLast(({ branch }) => branch === undefined);
  }
}
