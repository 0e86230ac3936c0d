import type { FileSystem } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { changingFiles } from "../powerloss/delegating.ts";
import { FaultyFileSystem } from "../storage/file/support/FaultyFileSystem.ts";
import { filesBelow } from "../storage/file/support/fixture.ts";
import type { Failure } from "./StorageHarness.ts";

/** Files that a test lets fail. */
export interface Files {
  readonly fileSystem: FileSystem;
  /** Lets the call that comes after so many fail, and all later ones or not; `undefined` heals. */
  fail(failure: Failure | undefined, call?: number, fromThenOn?: boolean): void;
  /** The sizes of all files by their paths. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** The device after a loss of power; absent for a real one. */
  losePower?(seed: number): Files;
}

/** On a disk. */
export function realFiles(directory: string): Files {
  const fileSystem = new FaultyFileSystem();
  return {
    fileSystem,
    fail(failure, call = 0, fromThenOn = false) {
      if (failure === undefined) return fileSystem.heal();
      fileSystem.failAt(fileSystem.calls.length + call, failure === "short write" ? "short" : failure, fromThenOn);
    },
    sizes: async () => new Map([...(await filesBelow(directory))].map(([path, { length }]) => [path, length])),
  };
}

/** On a device that can lose power. */
export function simulatedFiles(fileSystem = new SimulatedFileSystem()): Files {
  return {
    fileSystem,
    fail(kind, call = 0, fromThenOn = false) {
      fileSystem.inject(kind && { kind, call: fileSystem.calls.length + call, fromThenOn });
    },
    sizes: async () => new Map([...fileSystem.files()].map(([path, { length }]) => [path, length])),
    losePower(seed) {
      const models = ["amnesia", "metadata first", "data first", "weak"] as const;
      const states = [...fileSystem.crashStates(fileSystem.position, { models, seed, samples: 8, exhaustiveUpTo: 8 })];
      return simulatedFiles(states[seed % states.length]?.restart());
    },
  };
}

/** Files that say to be synced and are not. */
export function unsynced(files: Files): Files {
  const losePower = (seed: number): Files => unsynced(files.losePower?.(seed) ?? files);
  return {
    ...files,
    fileSystem: changingFiles(files.fileSystem, () => ({ fdatasync: async () => {} })),
    ...(files.losePower && { losePower }),
  };
}
