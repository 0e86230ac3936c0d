import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";

/** How long calls to a database are retried, in milliseconds: a person waits for the answer. */
export const commandRetryMs = 2_000;

/** A storage that a command works with. */
export interface OpenedStorage {
  readonly storage: LogPersistenceStorageProvider;
  /** What a person calls it, without passwords. */
  readonly name: string;
  /** Closes the storage, and the connection that it was opened with. */
  close(): Promise<void>;
}

/** How a storage is opened. */
export interface OpenOptions {
  /** What a relative name of a driver begins at. */
  readonly cwd: string;
  /** `read` changes nothing, `write` changes agents that are there, and `make` makes the storage if need be. */
  readonly purpose: "read" | "write" | "make";
}
