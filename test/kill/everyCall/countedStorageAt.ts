import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";

/**
 * The storage at a place. Before and after each append, the process counts a call, so that `killBeforeCall` can kill it
 * there.
 */
export async function countedStorageAt(place: StoragePlace): Promise<LogPersistenceStorageProvider> {
  const { log } = await storageAt(place);
  const count = (): void => (globalThis as { readonly countCall?: () => void }).countCall?.();
  const counted = delegatingLog(log, {}, (owned) => ({
    append: async (...given) => {
      count();
      const position = await owned.append(...given);
      count();
      return position;
    },
    release: async () => {
      count();
      await owned.release();
    },
  }));
  return new LogPersistenceStorageProvider(counted);
}
