import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { FilePersistenceStorageProvider, type FileSystem } from "agent-persistence/file";
import { SimulatedClock } from "agent-persistence/testing";
import { delegating } from "../powerloss/delegating.ts";
import { Machine } from "../powerloss/Machine.ts";
import type { Files } from "./Files.ts";
import type { Failure, StorageHarness } from "./StorageHarness.ts";

/** A storage on files, with processes of a machine. */
export class FilesHarness implements StorageHarness {
  readonly clock = new SimulatedClock();
  readonly losePower?: (seed: number) => void;
  readonly #directory: string;
  #files: Files;
  #machine = new Machine();
  #damaged: { readonly path: string; readonly at: number } | undefined;

  constructor(files: Files, directory: string) {
    this.#files = files;
    this.#directory = directory;
    if (files.losePower) this.losePower = (seed) => this.#losePower(seed);
  }

  start(): LogPersistenceStorageProvider {
    this.#machine.endAll();
    const { processIdentity } = this.#machine.start(this.#files.fileSystem);
    const fileSystem = this.#seen(this.#files.fileSystem);
    return new FilePersistenceStorageProvider({
      directory: this.#directory,
      clock: this.clock,
      processIdentity,
      fileSystem,
    });
  }

  endAfter(calls: number): void {
    this.#files.fail("EIO", calls, true);
  }

  fail(failure: Failure, call: number): void {
    this.#files.fail(failure, call);
  }

  heal(): void {
    this.#files.fail(undefined);
  }

  async damage(seed: number): Promise<() => void> {
    const sizes = [...(await this.#files.sizes())].filter(([, size]) => size > 0);
    const [path, size] = sizes[seed % Math.max(1, sizes.length)] ?? ["", 1];
    this.#damaged = { path, at: Math.floor(seed / 7) % size };
    return () => (this.#damaged = undefined);
  }

  #losePower(seed: number): void {
    this.#files = this.#files.losePower?.(seed) ?? this.#files;
    this.#machine = new Machine();
  }

  /** What a process reads of the files. */
  #seen(fileSystem: FileSystem): FileSystem {
    return delegating(fileSystem, {
      readFile: async (path, start = 0, length) => {
        const bytes = await fileSystem.readFile(path, start, length);
        if (path !== this.#damaged?.path) return bytes;
        const flipped = Uint8Array.from(bytes);
        const at = this.#damaged.at - start;
        if (at >= 0 && at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ 0x10;
        return flipped;
      },
    });
  }
}
