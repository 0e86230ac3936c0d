import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import Database from "libsql";

/** Keeps agents in the file `agents.db`. */
export const storage: SqlitePersistenceStorageProvider = new SqlitePersistenceStorageProvider({
  database: new Database("agents.db"),
});
