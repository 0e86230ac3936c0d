import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  InMemoryPersistenceStorageProvider,
  type AgentCheckpointData,
  type PersistenceStorageProvider,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { onTestFinished } from "vitest";
import type { Clock } from "../../../src/internal/Clock.ts";
import { wholeSoak } from "../../soak/cases.ts";

/** What a process gets when it opens a storage; calling it again is what the next process gets. */
export type Opened<Provider = PersistenceStorageProvider> = () => Provider;

export interface TestStorage<Provider = PersistenceStorageProvider> {
  readonly name: string;
  /** An empty storage that goes with the test. */
  readonly open: () => Promise<Opened<Provider>>;
}

/** A provider of three methods, as a user writes it: rows of JSON. */
export class RowsProvider implements PersistenceStorageProvider {
  readonly #rows: string[] = [];

  async getCheckpoints(agentId: string): Promise<AgentCheckpointData[]> {
    return this.#rows.map((row) => JSON.parse(row) as AgentCheckpointData).filter((row) => row.agentId === agentId);
  }
  async saveCheckpoint(_agentId: string, checkpoint: AgentCheckpointData): Promise<void> {
    this.#rows.push(JSON.stringify(checkpoint));
  }
  async getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined> {
    return (await this.getCheckpoints(agentId)).findLast(({ branch }) => branch === undefined);
  }
}

/** The in-memory storage. */
export const memory: TestStorage<LogPersistenceStorageProvider> = {
  name: "memory",
  async open() {
    const provider = new InMemoryPersistenceStorageProvider();
    return () => provider;
  },
};

/** The file storage. */
export const file = fileStorage();

/** The file storage with a clock. */
export function fileStorage(clock?: Clock): TestStorage<LogPersistenceStorageProvider> {
  return {
    name: "file",
    async open() {
      const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
      onTestFinished(() => rm(directory, { recursive: true, force: true }));
      return () => new FilePersistenceStorageProvider({ directory, clock });
    },
  };
}

const threeMethods: TestStorage = {
  name: "three methods",
  async open() {
    const provider = new RowsProvider();
    return () => provider;
  },
};

/**
 * Storages that journal tool calls and model responses between checkpoints: the in-memory storage in `npm test`, and the
 * file storage in a whole soak. The conformance suites compare storages.
 */
export const logStorages: readonly TestStorage<LogPersistenceStorageProvider>[] = [wholeSoak ? file : memory];

/** Every storage that keeps checkpoints. */
export const storages: readonly TestStorage[] = [...logStorages, threeMethods];
