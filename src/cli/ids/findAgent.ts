import { offersLog } from "../../storage/LogStorage.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { shortened } from "./shortened.ts";

/** The agent that was meant by its id or the beginning of its id. @throws CommandFailure when none or several are. */
export async function findAgent(storage: PersistenceStorageProvider, given: string): Promise<string> {
  assertAgentId(given);
  if (!offersLog(storage) || (await hasEntries(storage.log, given))) return given;
  return shortened("agent", given, idsIn(storage.log));
}

/** A look at the first entry: a list may have a hundred thousand agents. */
async function hasEntries(log: RecordLog, agentId: string): Promise<boolean> {
  try {
    for await (const _entry of log.read(agentId)) return true;
  } catch (error) {
    // What is damaged is there.
    if (AgentPersistenceError.isInstance(error)) return true;
    throw error;
  }
  return false;
}

async function* idsIn(log: RecordLog): AsyncGenerator<string> {
  for await (const { agentId } of log.list()) yield agentId;
}
