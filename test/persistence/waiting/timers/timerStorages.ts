import { join } from "node:path";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { testDirectory } from "../../../storage/file/support/fixture.ts";
import { libsql } from "../../../storage/sqlite/libsql.ts";
import { logStorages, type TestStorage } from "../../support/storages.ts";

const sqlite: TestStorage<LogPersistenceStorageProvider> = {
  name: "sqlite",
  async open() {
    const path = join(await testDirectory(), "agents.db");
    return () => new SqlitePersistenceStorageProvider({ database: libsql(path) });
  },
};

/** Memory, files and a table, because timers are found by their due time. */
export const timerStorages: readonly TestStorage<LogPersistenceStorageProvider>[] = [...logStorages, sqlite];
