import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { assertOfAgent } from "../../storage/readEntries.ts";
import { findLog } from "./findLog.ts";

/**
 * Finds an agent by its id or the start of its id.
 *
 * @param kind the kind in messages, such as "task". Defaults to an agent.
 * @throws CommandFailure if no agent or more than one matches
 * @throws WrongShapeError for a log of another kind
 */
export async function findAgent(storage: PersistenceStorageProvider, given: string, kind?: string): Promise<string> {
  return findLog(storage, given, assertOfAgent, kind);
}
