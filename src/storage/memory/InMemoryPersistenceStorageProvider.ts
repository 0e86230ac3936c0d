import { LogPersistenceStorageProvider } from "../LogPersistenceStorageProvider.ts";
import { MemoryRecordLog } from "./MemoryRecordLog.ts";

/**
 * Keeps everything in the memory of this process: for unit tests, and for agents that need not survive it. Values go
 * through the same encoding as on a disk, so what could not be stored is refused here too.
 */
export class InMemoryPersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor() {
    super(new MemoryRecordLog());
  }
}
