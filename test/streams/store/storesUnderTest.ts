import { join } from "node:path";
import {
  FileStreamStore,
  InMemoryStreamStore,
  PostgresStreamStore,
  RedisStreamStore,
  SqliteStreamStore,
} from "agent-persistence/streams";
import type { StreamStoreHarness } from "agent-persistence/testing";
import { onTestFinished } from "vitest";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import { newSchema, pool } from "../../storage/postgres/database.ts";
import { libsql } from "../../storage/sqlite/libsql.ts";
import { FakeRedis } from "./FakeRedis.ts";

let schema: string | undefined;

/** Makes an empty store of each kind. */
export const storesUnderTest: Readonly<Record<string, () => StreamStoreHarness | Promise<StreamStoreHarness>>> = {
  "in memory": () => ({ store: new InMemoryStreamStore() }),
  "in files": async () => {
    const directory = join(await testDirectory(), "deep", "streams");
    return harnessOf(() => new FileStreamStore({ directory }));
  },
  "in SQLite": async () => {
    const path = join(await testDirectory(), "streams.db");
    return harnessOf(() => new SqliteStreamStore({ database: libsql(path) }));
  },
  "in Postgres": async () => {
    const client = await pool();
    const used = (schema ??= newSchema());
    onTestFinished(async () => {
      await client.query(`DELETE FROM ${used}.agent_persistence_streams`);
    });
    return harnessOf(() => new PostgresStreamStore({ client, schema: used }));
  },
  "in Redis": () => {
    const client = new FakeRedis();
    return harnessOf(() => new RedisStreamStore({ client }));
  },
};

function harnessOf(open: () => StreamStoreHarness["store"]): StreamStoreHarness {
  return { store: open(), beside: open };
}
