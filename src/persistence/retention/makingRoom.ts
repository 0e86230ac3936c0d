import { StorageError } from "../../errors/storage/StorageError.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

/** Does something that frees space; on a full device once more, after the storage has given up its reserve. */
export async function makingRoom<Result>(log: RecordLog, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (!isFull(error) || !(await log.makeRoom?.())) throw error;
    return action();
  }
}

/** Whether an error says that a device, or a quota, is full. */
export function isFull(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "full";
}
