import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentCheckpointData, CheckpointFilter, PersistenceStorageProvider } from "agent-persistence";
import { filterCheckpoints } from "agent-persistence/storage";

/** Keeps each checkpoint in a JSON file of its own, in a folder for each agent. */
export class JsonFileStorageProvider implements PersistenceStorageProvider {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async saveCheckpoint(agentId: string, checkpoint: AgentCheckpointData): Promise<void> {
    const text = JSON.stringify(checkpoint);
    const folder = this.#folderOf(agentId);
    const file = join(folder, `${String(checkpoint.version).padStart(12, "0")}.json`);
    await mkdir(folder, { recursive: true });
    // Written beside it, then renamed: a crash leaves the whole checkpoint or none.
    await writeFile(`${file}.new`, text, { flush: true });
    await rename(`${file}.new`, file);
    await using entries = await open(folder);
    await entries.sync();
  }

  async getCheckpoints(agentId: string, filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    const folder = this.#folderOf(agentId);
    const files = (await readdir(folder).catch(noneIfAbsent)).filter((name) => name.endsWith(".json")).toSorted();
    const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
    return filterCheckpoints(
      texts.map((text) => JSON.parse(text) as AgentCheckpointData),
      filter,
    );
  }

  async getLatestCheckpoint(agentId: string, filter?: CheckpointFilter): Promise<AgentCheckpointData | undefined> {
    return (await this.getCheckpoints(agentId, filter)).findLast(({ branch }) => branch === undefined);
  }

  /** An agent id may hold anything; its hash is safe as the name of a folder everywhere. */
  #folderOf(agentId: string): string {
    return join(this.#directory, createHash("sha256").update(agentId).digest("hex"));
  }
}

function noneIfAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT") return [];
  throw error;
}
