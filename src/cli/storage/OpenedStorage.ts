import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";

/** The retry time for database calls in milliseconds, short because a person waits. */
export const commandRetryMs = 2_000;

export interface OpenedStorage {
  readonly storage: LogPersistenceStorageProvider;
  /** The storage below the encryption. Omitted if the storage is not encrypted. */
  readonly stored?: LogPersistenceStorageProvider;
  /** The display name without passwords. */
  readonly name: string;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** The base directory for resolving drivers. */
  readonly cwd: string;
  /** `read` changes no data, `write` changes existing agents, and `make` creates the storage if necessary. */
  readonly purpose: "read" | "write" | "make";
}
