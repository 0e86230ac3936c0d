import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";

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
