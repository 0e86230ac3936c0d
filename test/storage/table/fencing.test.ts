import type { LogTable } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { PostgresConnection } from "../../../src/storage/postgres/PostgresConnection.ts";
import { PostgresTable } from "../../../src/storage/postgres/PostgresTable.ts";
import { SqliteTable } from "../../../src/storage/sqlite/SqliteTable.ts";
import { newSchema, pool } from "../postgres/database.ts";
import { libsql } from "../sqlite/libsql.ts";
import { MemoryTable } from "./MemoryTable.ts";

const tables: readonly (readonly [name: string, make: () => LogTable | Promise<LogTable>])[] = [
  ["in memory", () => new MemoryTable()],
  ["in SQLite", () => new SqliteTable(libsql(":memory:"))],
  ["in Postgres", postgresTable],
];

async function postgresTable(): Promise<LogTable> {
  const use = { client: await pool(), schema: newSchema(), migrate: true, preparedStatements: false };
  return new PostgresTable(new PostgresConnection(use), undefined);
}

/** The log over a table cannot show these: it would take another process between two of its requests. */
it.each(tables)(
  "a table %s claims from nobody who renewed meanwhile, and stops nobody for another",
  async (_, make) => {
    const table = await make();
    const claim = { owner: "{}", beat: "0" };
    expect(await table.claim("a", claim)).toBe(1);
    const { generation = 0, beat = "" } = (await table.head("a")) ?? {};
    expect(await table.renew("a", 1, "1")).toEqual({ stop: undefined });
    expect(await table.claim("a", claim, { generation, beat })).toBeUndefined();
    const seen = await table.head("a");
    expect(await table.claim("a", claim, { generation, beat: seen?.beat ?? "" })).toBe(2);
    await table.requestStop("a", 1, "late");
    expect(await table.renew("a", 2, "1")).toEqual({ stop: undefined });
    await table.requestStop("a", 2, "soon");
    expect(await table.renew("a", 2, "2")).toEqual({ stop: "soon" });
  },
);
