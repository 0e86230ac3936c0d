import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { processOwner, type RecordLog } from "agent-persistence/storage";
import { afterAll, describe, expect, it } from "vitest";
import { exampleSummary } from "../../src/testing/conformance/log/logTest.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { databaseUrl, newSchema, pool, poolOf } from "../storage/postgres/database.ts";
import { contentOf } from "./tenantPairs.ts";

/** The statements of docs/storages.md for one tenant. */
const rightsOf = (schema: string, role: string) => `
GRANT USAGE ON SCHEMA ${schema} TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role};`;
const policiesOf = (schema: string, tenant: string) =>
  ["agents", "appends", "summaries", "blobs", "streams"].map(
    (table) => `
ALTER TABLE ${schema}.agent_persistence_${table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON ${schema}.agent_persistence_${table} USING (current_setting('app.tenant', true) = '${tenant}');`,
  );

const roles: string[] = [];

async function newRole(): Promise<string> {
  const role = `${newSchema()}_role`;
  await (await pool()).query(`CREATE ROLE ${role}`);
  roles.push(role);
  return role;
}

/** Makes the schema of a tenant that has one agent. */
async function newTenant(): Promise<{ readonly schema: string; readonly admin: PostgresPersistenceStorageProvider }> {
  const schema = newSchema();
  const admin = new PostgresPersistenceStorageProvider({ client: await pool(), schema });
  const owned = await admin.log.open("a", processOwner());
  await owned.append(
    { id: "1-1", records: [{ kind: "note", text: "secret" } as never], summary: exampleSummary("a", "running") },
    0,
  );
  await owned.release();
  return { schema, admin };
}

async function logAs(schema: string, role: string, setting = ""): Promise<RecordLog> {
  const url = new URL(await databaseUrl());
  url.searchParams.set("options", `-c role=${role} ${setting}`);
  return new PostgresPersistenceStorageProvider({ client: poolOf(url.href, 1), schema, migrate: false, retryMs: 0 })
    .log;
}

/** Everything that one tenant can ask for in the storage of another. */
function attempts(log: RecordLog): (() => Promise<unknown>)[] {
  return [
    () => log.open("a", processOwner()),
    () => collect(log.read("a")),
    () => collect(log.list()),
    () => collect(log.encodedAppends!("a")),
    () => log.owner("a"),
    () => log.requestStop("a", "reason"),
    () => log.blobs.put("a", 1, new Uint8Array(20_000)),
  ];
}

describe("tenants of one Postgres database", () => {
  afterAll(async () => {
    for (const role of roles) await (await pool()).query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it("refuse a role that has no right on the schema", async () => {
    const [mine, other, role] = [await newTenant(), await newTenant(), await newRole()];
    await (await pool()).query(rightsOf(mine.schema, role));
    expect(await collect((await logAs(mine.schema, role)).list())).toHaveLength(1);
    const before = await contentOf(other.admin);
    for (const attempt of attempts(await logAs(other.schema, role)))
      await expect(attempt()).rejects.toMatchObject({ code: "storage_failed", cause: { code: "42501" } });
    expect(await contentOf(other.admin)).toBe(before);
  });

  it("refuse a connection of another tenant by row level security", async () => {
    const [mine, other, role] = [await newTenant(), await newTenant(), await newRole()];
    for (const { schema } of [mine, other])
      await (await pool()).query([rightsOf(schema, role), ...policiesOf(schema, schema)].join(""));
    const setting = `-c app.tenant=${mine.schema}`;
    const own = await logAs(mine.schema, role, setting);
    const owned = await own.open("a", processOwner());
    await owned.append({ id: "2-2", records: [{ kind: "note" } as never], summary: exampleSummary("a", "running") }, 1);
    await owned.release();
    expect(await collect(own.read("a"))).toHaveLength(2);
    const before = await contentOf(other.admin);
    for (const log of [await logAs(other.schema, role, setting), await logAs(other.schema, role)])
      for (const attempt of attempts(log)) {
        const seen = await attempt().catch((error: unknown) => String(error));
        expect(JSON.stringify(seen ?? null)).not.toContain("secret");
      }
    expect(await contentOf(other.admin)).toBe(before);
  });
});
