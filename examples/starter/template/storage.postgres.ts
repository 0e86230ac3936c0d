import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { Pool } from "pg";

const { DATABASE_URL: connectionString } = process.env;
if (connectionString === undefined) throw new Error("Set DATABASE_URL, such as postgres://localhost/test.");
const client = new Pool({ connectionString, allowExitOnIdle: true });
// Without a listener, a restart of the server would end this process.
client.on("error", (error) => console.error(`Postgres: ${error.message}`));

/** Keeps agents in the schema `agent_persistence`. */
export const storage: PostgresPersistenceStorageProvider = new PostgresPersistenceStorageProvider({ client });
