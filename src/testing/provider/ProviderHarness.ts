import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";

/** A provider to be tested, with what else the suite may do to it. */
export interface ProviderHarness {
  readonly provider: PersistenceStorageProvider;
  /**
   * Another provider on the same data, as a new process would have; it may close the first. Absent: the first goes on,
   * and the suite cannot see what a storage forgets.
   */
  readonly reopen?: () => PersistenceStorageProvider | PromiseLike<PersistenceStorageProvider>;
}
