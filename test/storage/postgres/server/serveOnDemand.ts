import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { quoteName } from "../../../../src/storage/postgres/postgresNames.ts";
import { PostgresServer } from "./PostgresServer.ts";

/**
 * For `globalSetup`: tests that want a Postgres ask at a port of this process, and the first of them has it started. Runs of
 * other tests do not wait for it. `DATABASE_URL` names one that is there already.
 */
export default async function serveOnDemand(): Promise<() => Promise<void>> {
  const schemas = `t${randomBytes(4).toString("hex")}`;
  process.env["POSTGRES_SCHEMAS"] = schemas;
  const { DATABASE_URL: given } = process.env;
  if (given !== undefined) return () => dropSchemas(given, schemas);
  let started: Promise<PostgresServer> | undefined;
  const door = createServer((socket) => {
    started ??= PostgresServer.start();
    started.then(
      ({ url }) => socket.end(url),
      (error: unknown) => socket.end(String(error)),
    );
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  process.env["POSTGRES_DOOR"] = String((door.address() as AddressInfo).port);
  return async () => {
    door.close();
    await (await started)?.stop();
  };
}

/** Removes what tests have left in a database that stays. */
async function dropSchemas(connectionString: string, begin: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const sql = "SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname::text, $1)";
  const { rows } = await client.query<{ readonly name: string }>(sql, [begin]);
  for (const { name } of rows) await client.query(`DROP SCHEMA ${quoteName(name)} CASCADE`);
  await client.end();
}
