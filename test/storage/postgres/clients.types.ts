// Compiled, never run: clients are taken as their packages have them.
import { PGlite } from "@electric-sql/pglite";
import { Pool as NeonPool } from "@neondatabase/serverless";
import { type PostgresClient, PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { FileRecordLog } from "agent-persistence/file";
import { Client, Pool } from "pg";
import postgres from "postgres";

const connectionString = "postgres://localhost";
new PostgresPersistenceStorageProvider({ client: new Pool({ connectionString, max: 10 }), leaseMs: 30_000 });
new PostgresPersistenceStorageProvider({ client: new Client({ connectionString }), preparedStatements: true });
new PostgresPersistenceStorageProvider({ client: new NeonPool({ connectionString }), schema: "tenant_7" });
new PostgresPersistenceStorageProvider({ client: new PGlite(), blobs: new FileRecordLog().blobs });

const sql = postgres(connectionString);
const client: PostgresClient = { query: async (text, values) => ({ rows: await sql.unsafe(text, values as never[]) }) };
new PostgresPersistenceStorageProvider({
  client,
  migrate: false,
  listen: async (channel, onWake, onReconnect) => {
    const listening = await sql.listen(channel, onWake, onReconnect);
    return { close: () => listening.unlisten() };
  },
});
// @ts-expect-error an address is no client: which driver connects is the user's choice
new PostgresPersistenceStorageProvider({ client: connectionString });
