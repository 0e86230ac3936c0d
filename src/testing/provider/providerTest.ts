import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { type ConformanceTest, defineConformanceTest } from "../support/defineConformanceTest.ts";
import type { Expectations } from "../support/Expectations.ts";
import type { ProviderHarness } from "./ProviderHarness.ts";
import { ProviderUnderTest } from "./ProviderUnderTest.ts";

/** A test of a provider of three methods: given as it is, or in a harness. */
export type ProviderTest = ConformanceTest<PersistenceStorageProvider | ProviderHarness>;

/** One test of a provider; a fresh one is made for it. */
export function providerTest(
  name: string,
  body: (storage: ProviderUnderTest, expect: Expectations) => Promise<void>,
): ProviderTest {
  return defineConformanceTest(
    name,
    (made: PersistenceStorageProvider | ProviderHarness) => new ProviderUnderTest(made),
    body,
  );
}
