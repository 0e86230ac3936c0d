import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { Entry, LogPersistenceStorageProvider, ReadOptions } from "agent-persistence/storage";
import { onTestFinished } from "vitest";
import type { FileSystem, OpenFile } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";

/** What was read and written, in bytes of files and in records of logs. */
export interface Counted {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly recordsRead: number;
}

/** A file storage in a folder of a test, that counts what goes through it. */
export class CountedFiles {
  readonly #directory: string;
  #counted = { bytesRead: 0, bytesWritten: 0, recordsRead: 0 };

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async create(): Promise<CountedFiles> {
    const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    return new CountedFiles(directory);
  }

  /** What the next process opens. */
  open(): LogPersistenceStorageProvider {
    const provider = new FilePersistenceStorageProvider({ directory: this.#directory, fileSystem: this.#fileSystem() });
    const { log } = provider;
    const read = log.read.bind(log);
    log.read = (agentId: string, options?: ReadOptions) => this.#countRecords(read(agentId, options));
    return provider;
  }

  /** What was counted since {@link count} was called last. */
  get counted(): Counted {
    return this.#counted;
  }

  /** What an action reads and writes. */
  async count(action: () => Promise<unknown>): Promise<Counted> {
    this.#counted = { bytesRead: 0, bytesWritten: 0, recordsRead: 0 };
    await action();
    return this.#counted;
  }

  async *#countRecords(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
    for await (const entry of entries) {
      this.#counted.recordsRead += entry.records.length;
      yield entry;
    }
  }

  #fileSystem(): FileSystem {
    return {
      ...nodeFileSystem,
      readFile: async (...args) => {
        const bytes = await nodeFileSystem.readFile(...args);
        this.#counted.bytesRead += bytes.length;
        return bytes;
      },
      create: async (...args) => this.#countWrites(await nodeFileSystem.create(...args)),
    };
  }

  #countWrites(file: OpenFile): OpenFile {
    return {
      write: (bytes) => {
        this.#counted.bytesWritten += bytes.length;
        return file.write(bytes);
      },
      // No device is waited for: what is counted is the same.
      fdatasync: async () => {},
      fsync: async () => {},
      close: () => file.close(),
    };
  }
}
