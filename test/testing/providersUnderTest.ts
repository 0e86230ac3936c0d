import { join } from "node:path";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { LogPersistenceStorageProvider } from "../../src/storage/LogPersistenceStorageProvider.ts";
import { InMemoryPersistenceStorageProvider, MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import type { ProviderHarness } from "../../src/testing/conformance/provider/providerTest.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";
import { TextProvider } from "./TextProvider.ts";
import { wholeSoak } from "../soak/cases.ts";

const tiny = { inlineThresholdBytes: 16 };
let directories = 0;

/** The suite of logs tests blobs. */
const ofSmallBlobs: Readonly<Record<string, () => Promise<ProviderHarness>>> = {
  "in memory, all but the smallest values as blobs": async () => ({
    provider: new LogPersistenceStorageProvider(new MemoryRecordLog(), tiny),
  }),
  "in files, all but the smallest values as blobs": () => inFiles(tiny),
};

/** Every provider that must conform, by name; each call makes one that holds nothing. */
export const providersUnderTest: Readonly<Record<string, () => Promise<ProviderHarness>>> = {
  "in memory": async () => ({ provider: new InMemoryPersistenceStorageProvider() }),
  "in files": () => inFiles({}),
  "of three methods": async () => {
    const table = new Map<string, string[]>();
    return { provider: new TextProvider(table), reopen: () => new TextProvider(table) };
  },
  ...(wholeSoak && ofSmallBlobs),
};

async function inFiles(options: { readonly inlineThresholdBytes?: number }): Promise<ProviderHarness> {
  const directory = join(await testDirectory(), String(directories++));
  const reopen = () => new FilePersistenceStorageProvider({ directory, ...options });
  return { provider: reopen(), reopen };
}
