import { encryptedStreams } from "../../encryption/encryptedStreams.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import type { StreamStore } from "../../streams/store/StreamStore.ts";

/** A storage with redacted values. */
export class RedactedStorage extends LogPersistenceStorageProvider {
  /** Encrypts the chunks of responses, because a secret can be split between two of them. */
  encryptedStreams(store: StreamStore): StreamStore {
    return encryptedStreams(store, this);
  }
}
