import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { assertOfAgent } from "../../storage/readEntries.ts";
import { findLog } from "./findLog.ts";

/**
 * The agent that was meant by its id or the beginning of its id.
 *
 * @param kind what a message calls it, such as "task". Default: an agent.
 * @throws CommandFailure when none or several are; WrongShapeError for the log of something else.
 */
export async function findAgent(storage: PersistenceStorageProvider, given: string, kind?: string): Promise<string> {
  return findLog(storage, given, assertOfAgent, kind);
}
