import { LogPersistenceStorageProvider } from "../LogPersistenceStorageProvider.ts";
import { NoRecordLog } from "./NoRecordLog.ts";

/**
 * Keeps nothing: the default. Reads are empty, and every rollback fails with `checkpoint_not_found`. It does not conform
 * to the suite for providers, which asks that what is saved can be read.
 */
export class NoPersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor() {
    super(new NoRecordLog());
  }
}
