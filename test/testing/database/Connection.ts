import { StorageError } from "../../../src/errors/storageErrors.ts";
import type { Clock } from "../../../src/internal/Clock.ts";
import type { Database } from "./Database.ts";

export const leaseMs = 15_000;

/** What the parts of one log share. */
export interface Connection {
  readonly database: Database;
  /** Of the database: all processes judge leases by it. */
  readonly time: Clock;
  /** Of this process. */
  readonly clock: Clock;
}

/** The answer of the database. @throws StorageError in place of what a driver throws. */
export async function ask<Result>(operation: string, of: string, statement: () => Promise<Result>): Promise<Result> {
  try {
    return await statement();
  } catch (error) {
    throw new StorageError("unavailable", operation, of, { cause: error });
  }
}
