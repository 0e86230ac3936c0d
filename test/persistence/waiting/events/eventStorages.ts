import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { onTestFinished } from "vitest";
import { wholeSoak } from "../../../soak/cases.ts";
import { sharedEngines } from "../../../storage/engines/engines.ts";
import { storageAt } from "../../../storage/engines/storageAt.ts";
import type { TestStorage } from "../../support/storages.ts";

const memory: TestStorage<LogPersistenceStorageProvider> = {
  name: "in memory",
  async open() {
    const provider = new InMemoryPersistenceStorageProvider();
    return () => provider;
  },
};

/** Memory, files and SQLite, and in a whole soak the other tables. Each call of an opened storage is another provider, as in another process. */
export const eventStorages: readonly TestStorage<LogPersistenceStorageProvider>[] = [
  memory,
  ...sharedEngines
    .filter(({ name }) => wholeSoak || name === "in files" || name === "in SQLite")
    .map(({ name, place }): TestStorage<LogPersistenceStorageProvider> => ({
      name,
      async open() {
        const at = await place();
        const spare = await Promise.all([1, 2, 3, 4].map(() => storageAt(at)));
        onTestFinished(async () => void (await Promise.all(spare.map(({ log }) => log.close()))));
        let next = 0;
        return () => spare[next++ % spare.length] as LogPersistenceStorageProvider;
      },
    })),
];
