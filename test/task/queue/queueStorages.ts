import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import type { TestStorage } from "../../persistence/support/storages.ts";
import { timerStorages } from "../../persistence/waiting/timers/timerStorages.ts";
import { wholeSoak } from "../../soak/cases.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import { newSchema, pool } from "../../storage/postgres/database.ts";

const file: TestStorage<LogPersistenceStorageProvider> = {
  name: "file",
  async open() {
    const directory = await testDirectory();
    return () => new FilePersistenceStorageProvider({ directory });
  },
};

const postgres: TestStorage<LogPersistenceStorageProvider> = {
  name: "postgres",
  async open() {
    const [schema, client] = [newSchema(), await pool()];
    return () => new PostgresPersistenceStorageProvider({ client, schema });
  },
};

/** The storages that suites of queues run on: those of `npm test` include one table, and a whole soak has another. */
export const queueStorages: readonly TestStorage<LogPersistenceStorageProvider>[] = [
  ...timerStorages,
  file,
  ...(wholeSoak ? [postgres] : []),
];
