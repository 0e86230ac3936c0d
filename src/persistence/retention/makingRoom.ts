import { StorageError } from "../../errors/storageErrors.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

/** Runs an action that frees space. If the device is full, the storage releases its reserve for a second try. */
export async function makingRoom<Result>(log: RecordLog, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (!isFull(error) || !(await log.makeRoom?.())) throw error;
    return action();
  }
}

export function isFull(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "full";
}
