import { LogPersistenceStorageProvider } from "../LogPersistenceStorageProvider.ts";
import { MemoryRecordLog } from "./MemoryRecordLog.ts";

/**
 * Stores agents in the memory of this process, for unit tests and temporary agents. Values are encoded like in durable
 * storages, so values that cannot be stored are also rejected here.
 *
 * @example
 * ```ts
 * const storage = new InMemoryPersistenceStorageProvider();
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class InMemoryPersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor() {
    super(new MemoryRecordLog());
  }
}
