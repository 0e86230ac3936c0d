import { assertAgentId } from "../internal/options/assertAgentId.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { encryptedLogOf } from "./keys/KeyedLog.ts";

/** The prefix of the log with the events that were sent to an agent. */
const inboxPrefix = "inbox:";

/**
 * Destroys the data key of an agent and of its inbox, so that nobody can read their data again. Backups without the
 * keys are unreadable as well. Ids, statuses and times stay until the agent is deleted. A process that has used the
 * agent keeps the key in memory until it opens the agent again or ends. If a call was interrupted, call `destroyKey`
 * again.
 *
 * @param agentId - the id of an agent. A graph thread has the id `thread:<id>`, a session `session:<id>`.
 * @throws AgentBusyError while the agent runs. The key is then unchanged.
 * @throws NotSupportedError if neither `encrypted()` nor a redaction with a vault made the storage.
 */
export async function destroyKey(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  assertAgentId(agentId);
  const log = encryptedLogOf(storage, "destroyKey()");
  await log.destroyKey(agentId);
  await log.destroyKey(`${inboxPrefix}${agentId}`);
}
