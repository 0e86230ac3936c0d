import type { PersistenceStorageProvider } from "agent-persistence";
import type { SimulatedClock } from "agent-persistence/testing";

/** How a call to a storage goes wrong, once. */
export type Failure = "EIO" | "ENOSPC" | "EACCES" | "short write";

/** A storage as the model treats it. What is absent the storage cannot do: it has no files, or no device of its own. */
export interface StorageHarness {
  readonly clock: SimulatedClock;
  /** What the next process gets; the one before has ended, without a word. */
  start(): PersistenceStorageProvider;
  /** The process that runs ends after so many more writes or calls: nothing it does from then on has any effect. */
  endAfter(calls: number): void;
  /** Of the calls to come this one fails. */
  fail?(failure: Failure, call: number): void;
  /** No call fails any more. */
  heal(): void;
  /** Power is lost while no process runs; what was not synced may be gone. */
  losePower?(seed: number): void;
  /** A byte of some file is another one. @returns what puts it right */
  damage?(seed: number): Promise<() => void>;
}
