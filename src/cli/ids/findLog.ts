import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { offersLog } from "../../storage/LogStorage.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { shortened } from "./shortened.ts";

/** What the ids of logs begin with that are no agents: those who wrote them know the rest. */
const shapes = ["thread", "session"];

/** Throws when a log is not one that is meant, as its first entry shows. */
export type CheckLog = (agentId: string, first: Pick<Entry, "records">) => void;

/**
 * The agent that was meant by its id or the beginning of its id, or the log of something else, such as a graph thread.
 *
 * @param kind what a message calls it.
 * @throws CommandFailure when none or several are; what `check` throws.
 */
export async function findLog(
  storage: PersistenceStorageProvider,
  given: string,
  check: CheckLog = () => {},
  kind = "agent",
): Promise<string> {
  assertAgentId(given);
  if (!offersLog(storage)) return given;
  for (const id of [given, ...shapes.map((shape) => `${shape}:${given}`)])
    if (await isThere(storage.log, id, check)) return id;
  const found = await shortened(kind, given, idsIn(storage.log));
  await isThere(storage.log, found, check);
  return found;
}

/** A look at the first entry: a list may have a hundred thousand agents. */
async function isThere(log: RecordLog, agentId: string, check: CheckLog): Promise<boolean> {
  const first = await firstOf(log, agentId);
  if (typeof first === "object") check(agentId, first);
  return first !== undefined;
}

async function firstOf(log: RecordLog, agentId: string): Promise<Pick<Entry, "records"> | "damaged" | undefined> {
  try {
    for await (const entry of log.read(agentId)) return entry;
    return undefined;
  } catch (error) {
    // What is damaged is there.
    if (AgentPersistenceError.isInstance(error)) return "damaged";
    throw error;
  }
}

async function* idsIn(log: RecordLog): AsyncGenerator<string> {
  for await (const { agentId } of log.list()) yield agentId;
}
