import { orderTests, providerSeparationTests, reopenTests } from "./provider/orderTests.ts";
import { isolationTests, valueTests } from "./provider/valueTests.ts";
import type { ProviderTest } from "./provider/providerTest.ts";

/**
 * What every `PersistenceStorageProvider` must do. In any test runner, with a provider that holds nothing for each test:
 *
 *     for (const test of persistenceStorageProviderConformance) it(test.name, () => test.run(() => new MyProvider()));
 *
 * A storage that outlives its process gives `{ provider, reopen }` instead, so that what it forgets is seen. A storage
 * that keeps nothing, `NoPersistenceStorageProvider`, does not conform.
 */
export const persistenceStorageProviderConformance: readonly ProviderTest[] = [
  ...orderTests,
  ...valueTests,
  ...providerSeparationTests,
  ...isolationTests,
  ...reopenTests,
];
