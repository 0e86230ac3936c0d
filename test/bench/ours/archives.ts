import { exportAgent, importAgent } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";
import { agentOfLargeValues } from "./largeValues.ts";
import { loopingAgent } from "./loopingAgent.ts";

/** An archive of an agent, written and read in a file. Medians in milliseconds. */
export interface ArchiveFigures {
  readonly exportMs: number;
  /** The files of the agent are read, hashed and written into one file. */
  readonly exportCopyMs: number;
  readonly importMs: number;
  /** The archive is read, hashed and written into another file, which is synced. */
  readonly importCopyMs: number;
}

const rounds = 7;
/** The first rounds compile the code and are thrown away. */
const warmUp = 2;
const steps = 3_000;

/** An agent of 3,000 steps with a message of 2 KB each. */
export async function archivesOfSteps(directory: string): Promise<ArchiveFigures> {
  await written(directory, (storage) => loopingAgent(storage, { steps, finishes: true }).run(1, { agentId: "bench" }));
  return archivesOf(directory);
}

/** An agent with 100 values of 1 MB. */
export async function archivesOfValues(directory: string): Promise<ArchiveFigures> {
  await valuesWritten(directory, 100);
  return archivesOf(directory);
}

/**
 * Writes an agent with 1,000 values of 1 MB, exports it or imports it. Returns how much more memory this process uses at most
 * than before, in bytes.
 */
export async function archiveMemory(of: "values" | "export" | "import", directory: string): Promise<number> {
  if (of === "values") return growth(() => valuesWritten(directory, 1_000));
  return growth((onPart) => (of === "export" ? exported : imported)(directory, onPart));
}

async function archivesOf(directory: string): Promise<ArchiveFigures> {
  const times = {
    export: [] as number[],
    exportCopy: [] as number[],
    import: [] as number[],
    importCopy: [] as number[],
  };
  const files = await filesIn(join(directory, "tasks"));
  for (let round = 0; round < warmUp + rounds; round++) {
    times.exportCopy.push(await timeOf(() => hashedCopy(files, join(directory, "copy"), false)));
    times.export.push(await timeOf(() => exported(directory)));
    times.importCopy.push(await timeOf(() => hashedCopy([archiveIn(directory)], join(directory, "copy"), true)));
    times.import.push(await timeOf(() => imported(directory)));
    await rm(join(directory, "imported"), { recursive: true });
  }
  const warm = (all: readonly number[]): number => median(all.slice(warmUp));
  return {
    exportMs: warm(times.export),
    exportCopyMs: warm(times.exportCopy),
    importMs: warm(times.import),
    importCopyMs: warm(times.importCopy),
  };
}

async function growth(work: (onPart: () => void) => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let highest = before;
  await work(() => (highest = Math.max(highest, process.memoryUsage.rss())));
  return highest - before;
}

async function exported(directory: string, onPart: () => void = () => {}): Promise<void> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const file = await open(archiveIn(directory), "w");
  for await (const part of exportAgent(storage, "bench")) {
    await file.write(part);
    onPart();
  }
  await file.close();
  await storage.log.close();
}

async function imported(directory: string, onPart: () => void = () => {}): Promise<void> {
  const storage = new FilePersistenceStorageProvider({ directory: join(directory, "imported") });
  const { agentId } = await importAgent(storage, counted(createReadStream(archiveIn(directory)), onPart));
  if (agentId !== "bench") throw new Error("The archive was to be of the same agent.");
  await storage.log.close();
}

async function* counted(parts: AsyncIterable<Uint8Array>, onPart: () => void): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    onPart();
    yield part;
  }
}

async function hashedCopy(files: readonly string[], to: string, synced: boolean): Promise<void> {
  const hash = createHash("sha256");
  const copy = await open(to, "w");
  for (const file of files) {
    for await (const part of createReadStream(file) as AsyncIterable<Uint8Array>) {
      hash.update(part);
      await copy.write(part);
    }
  }
  hash.digest();
  if (synced) await copy.sync();
  await copy.close();
}

function archiveIn(directory: string): string {
  return join(directory, "archive");
}

async function filesIn(directory: string): Promise<readonly string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

function valuesWritten(directory: string, values: number): Promise<void> {
  return written(directory, (storage) => agentOfLargeValues(storage, values).run(values, { agentId: "bench" }));
}

async function written(
  directory: string,
  run: (storage: FilePersistenceStorageProvider) => Promise<unknown>,
): Promise<void> {
  const storage = new FilePersistenceStorageProvider({ directory });
  await run(storage);
  await storage.log.close();
}
