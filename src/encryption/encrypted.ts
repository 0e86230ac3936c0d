import { z } from "zod";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import { type PersistenceStorageProvider, providerSchema, withLog } from "../storage/PersistenceStorageProvider.ts";
import { DataKeys } from "./keys/DataKeys.ts";
import { KeyLog, agentIdOf } from "./keys/KeyLog.ts";
import { type KeySource, keySourceSchema } from "../storage/KeySource.ts";
import { EncryptedRecordLog } from "./log/EncryptedRecordLog.ts";
import { defaultPlainFields, type PlainField, plainFields } from "./log/sealedSummary.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { encryptedLogOf } from "./keys/KeyedLog.ts";
import { assertAgentId, isAgentId } from "../internal/options/assertAgentId.ts";

/** Options of {@link encrypted}. */
export interface EncryptionOptions {
  /** The keys that encrypt the data key of each agent. */
  readonly keys: KeySource;
  /**
   * The fields of summaries that stay readable in the storage, for queries of your own. The status, the times and the
   * sort key always stay readable. Defaults to `["priority", "attempts", "checkpoints"]`.
   */
  readonly plain?: readonly PlainField[] | undefined;
  /**
   * The storage of the encrypted data keys. A separate storage, with separate backups, makes destroyed keys
   * unrecoverable. Defaults to the encrypted storage.
   */
  readonly keyStorage?: PersistenceStorageProvider | undefined;
}

const optionsSchema = strictOptions(() => ({
  keys: keySourceSchema,
  plain: z.array(z.enum(plainFields)).optional(),
  keyStorage: providerSchema.optional(),
}));

/**
 * Encrypts all data of a storage with AES-256-GCM, after the data is serialized. Each agent has a separate data key,
 * which a key of `keys` encrypts. If someone without the key changed, moved or stored data, that data is rejected.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 * @throws NotSupportedError if the storage has no log, or if its blob store does not accept names for blobs.
 *
 * @example
 * ```ts
 * const key = Buffer.from(process.env.AGENT_KEY ?? "", "base64");
 * const keys = { current: "2026-11", get: (keyId: string) => (keyId === "2026-11" ? key : undefined) };
 * const storage = encrypted(new FilePersistenceStorageProvider(), { keys });
 * ```
 */
export function encrypted(
  storage: PersistenceStorageProvider,
  options: EncryptionOptions,
): LogPersistenceStorageProvider {
  checkSchema(providerSchema, storage, "storage of encrypted()");
  checkSchema(optionsSchema, options, "options of encrypted()");
  const { keys, plain = defaultPlainFields, keyStorage = storage } = options;
  const [stored, ofKeys] = [withLog(storage, "encrypted()"), withLog(keyStorage, "encrypted()")];
  const sha256 = () => stored.sha256();
  const dataKeys = new DataKeys(new KeyLog(ofKeys.log, sha256), keys);
  const log = new EncryptedRecordLog(stored.log, { keys: dataKeys, plain, sha256 });
  const { inlineThresholdBytes, compressThresholdBytes } = stored;
  return new LogPersistenceStorageProvider(log, { inlineThresholdBytes, compressThresholdBytes });
}

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
  const inboxId = `${inboxPrefix}${agentId}`;
  if (isAgentId(inboxId)) await log.destroyKey(inboxId);
}
