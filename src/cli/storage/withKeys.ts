import { encrypted, type EncryptionOptions, type KeySource } from "../../encryption.ts";
import { offersLog } from "../../storage/LogStorage.ts";
import type { OpenedStorage } from "./OpenedStorage.ts";

/**
 * Decrypts an opened storage.
 *
 * @param given - the keys, or all options of `encrypted()`.
 */
export function withKeys(opened: OpenedStorage, given: unknown): OpenedStorage {
  const options = isOptions(given) ? given : { keys: given as KeySource };
  const storage = encrypted(opened.storage, options);
  const { keyStorage } = options;
  return {
    ...opened,
    storage,
    stored: opened.storage,
    close: async () => {
      await opened.close();
      if (keyStorage && offersLog(keyStorage)) await keyStorage.log.close();
    },
  };
}

function isOptions(given: unknown): given is EncryptionOptions {
  return typeof given === "object" && given !== null && "keys" in given;
}
