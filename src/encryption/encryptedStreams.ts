import { AuthenticationFailedError } from "../errors/encryptionErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { objectWithMethods } from "../internal/options/optionSchemas.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../internal/bytes.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { StreamEntry, StreamPlace, StreamStore } from "../streams/store/StreamStore.ts";
import type { DataKey } from "./keys/DataKeys.ts";
import { type KeyedRecordLog, encryptedLogOf } from "./keys/KeyedLog.ts";

const storeSchema = objectWithMethods<StreamStore>("append", "read", "remove");

/**
 * Encrypts the chunks of streams with the data keys of an encrypted storage. The number and size of chunks stay
 * readable. If the store is encrypted already, returns it unchanged.
 *
 * @param storage - the storage of the agents, which `encrypted()` or a redaction with a vault returned.
 * @throws NotSupportedError if neither `encrypted()` nor a redaction with a vault made the storage.
 *
 * @example
 * ```ts
 * const store = encryptedStreams(new RedisStreamStore({ client }), storage);
 * ```
 */
export function encryptedStreams(store: StreamStore, storage: PersistenceStorageProvider): StreamStore {
  checkSchema(storeSchema, store, "store of encryptedStreams()");
  if (store instanceof EncryptedStreamStore) return store;
  return new EncryptedStreamStore(store, encryptedLogOf(storage, "encryptedStreams()"));
}

/** Encrypts the chunks of an entry. The first chunk contains all of them, and the other chunks are empty. */
class EncryptedStreamStore implements StreamStore {
  readonly watch?: NonNullable<StreamStore["watch"]>;
  readonly #store: StreamStore;
  readonly #log: KeyedRecordLog;

  constructor(store: StreamStore, log: KeyedRecordLog) {
    this.#store = store;
    this.#log = log;
    if (store.watch) this.watch = store.watch.bind(store);
  }

  async append(streamId: string, { writer, first, chunks }: StreamEntry): Promise<void> {
    const text = JSON.stringify(chunks);
    const entry = { writer, first, chunks: chunks.map(() => "") };
    const key = await this.#log.keyForWriting(streamId);
    const data = toBase64Url(await key.encrypt(utf8(text), contextOf(streamId, entry, key.id)));
    entry.chunks[0] = `${key.id}:${data}`;
    await this.#store.append(streamId, entry);
  }

  async read(streamId: string, after?: StreamPlace): Promise<readonly StreamEntry[]> {
    const entries = await this.#store.read(streamId, after);
    return Promise.all(entries.map((entry) => this.#opened(streamId, entry)));
  }

  remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    return this.#store.remove(streamId, upTo);
  }

  async #opened(streamId: string, entry: StreamEntry): Promise<StreamEntry> {
    const { writer, first } = entry;
    const [id = "", data = ""] = entry.chunks[0]?.split(":") ?? [];
    const key: DataKey | undefined = await this.#log.keys.reading(streamId, id);
    const bytes = fromBase64Url(data);
    const text = bytes && (await key?.decrypt(bytes, contextOf(streamId, entry, id)));
    if (text) return { writer, first, chunks: JSON.parse(fromUtf8(text)) as string[] };
    throw new AuthenticationFailedError(streamId, undefined, "an entry of its stream was changed or moved");
  }
}

function contextOf(streamId: string, { writer, first, chunks }: StreamEntry, keyId: string): string {
  return JSON.stringify(["agent-persistence stream", 1, streamId, writer, first, chunks.length, keyId]);
}
