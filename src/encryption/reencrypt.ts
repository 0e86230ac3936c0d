import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { encryptedLogOf } from "./keys/KeyedLog.ts";
import { agentIdOf } from "./keys/KeyLog.ts";

/** The result of {@link reencrypt} for one agent. */
export interface ReencryptedKey {
  /**
   * The id of the agent, thread, session or inbox. If the log of the data key is damaged and the id is longer than
   * about 1,000 bytes, this is the id of that log.
   */
  readonly agentId: string;
  /** Whether the data key was encrypted again. `false` if it was encrypted with the current key already. */
  readonly changed: boolean;
  /** The reason if the data key could not be encrypted again, such as a missing key or a damaged log. */
  readonly error?: AgentPersistenceError;
}

/**
 * Encrypts the data keys of all agents with the current key of the key source, also while agents run. Afterwards, only
 * results with an error still need other keys. The data itself is not written again. If an earlier change of the key
 * crashed, this also removes the data keys that it left encrypted with other keys.
 *
 * @throws NotSupportedError if neither `encrypted()` nor a redaction with a vault made the storage.
 *
 * @example
 * ```ts
 * for await (const { agentId, error } of reencrypt(storage)) if (error) console.error(agentId, error.message);
 * ```
 */
export async function* reencrypt(storage: PersistenceStorageProvider): AsyncGenerator<ReencryptedKey, void, undefined> {
  const { keys } = encryptedLogOf(storage, "reencrypt()");
  for await (const logId of keys.logIds()) {
    try {
      const agentId = await keys.agentIdIn(logId);
      if (agentId === undefined) continue;
      const changed = await keys.refresh(agentId);
      if (!changed) await keys.removeReplaced(agentId);
      yield { agentId, changed };
    } catch (error) {
      if (!AgentPersistenceError.isInstance(error) || error.code === "storage_closed") throw error;
      yield { agentId: agentIdOf(logId), changed: false, error };
    }
  }
}
