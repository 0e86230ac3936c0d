import { orderTests, providerSeparationTests, reopenTests } from "./conformance/provider/orderTests.ts";
import { isolationTests, valueTests } from "./conformance/provider/valueTests.ts";
import type { ProviderTest } from "./conformance/provider/providerTest.ts";

/**
 * The conformance suite for every `PersistenceStorageProvider`, for any test runner. Pass a function that returns an
 * empty provider. For a durable storage, return `{ provider, reopen }` so that the suite also tests a restart.
 * `NoPersistenceStorageProvider` does not conform, because it stores no data.
 *
 * @example
 * ```ts
 * for (const test of persistenceStorageProviderConformance) it(test.name, () => test.run(() => new MyProvider()));
 * ```
 */
export const persistenceStorageProviderConformance: readonly ProviderTest[] = [
  ...orderTests,
  ...valueTests,
  ...providerSeparationTests,
  ...isolationTests,
  ...reopenTests,
];
