import { readdir, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { PersistenceStorageProvider } from "agent-persistence";
import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { afterEach, describe, expect, it, vi } from "vitest";
import { dynamoDBEndpoint, localDynamoDB, newTable } from "../../storage/dynamodb/localDynamoDB.ts";
import { databaseUrl, newSchema, pool } from "../../storage/postgres/database.ts";
import { libsql } from "../../storage/sqlite/libsql.ts";
import { Desk } from "../support/Desk.ts";
import { deskOn } from "../support/desk/desk.mjs";
import { itemsOf } from "../support/TestTerminal.ts";

/** A driver that notes whether it opens to read only. @param option what it calls that. */
function driverOf(option: string): string {
  return `
    const Libsql = require(${JSON.stringify(createRequire(import.meta.url).resolve("libsql"))});
    module.exports = class extends Libsql {
      constructor(file, { ${option}: reads }) {
        require("node:fs").appendFileSync(require("node:path").join(__dirname.split("node_modules")[0], "opened.txt"), reads + "\\n");
        super(file, { readonly: reads });
      }
    };
  `;
}

afterEach(() => {
  vi.restoreAllMocks();
});

interface Database {
  readonly name: string;
  open(folder: string): Promise<{ readonly address: string; readonly storage: PersistenceStorageProvider }>;
}

const databases: readonly Database[] = [
  {
    name: "SQLite",
    open: async (folder) => ({
      address: "sqlite:agents.db",
      storage: new SqlitePersistenceStorageProvider({ database: libsql(join(folder, "agents.db")) }),
    }),
  },
  {
    name: "Postgres",
    async open() {
      const [url, schema] = [new URL(await databaseUrl()), newSchema()];
      url.searchParams.set("schema", schema);
      return {
        address: url.href,
        storage: new PostgresPersistenceStorageProvider({ client: await pool(), schema }),
      };
    },
  },
  {
    name: "DynamoDB",
    async open() {
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" });
      const [endpoint, tableName] = [await dynamoDBEndpoint(), await newTable()];
      return {
        address: `dynamodb:${tableName}?region=us-east-1&endpoint=${endpoint}`,
        storage: new DynamoDBPersistenceStorageProvider({ client: await localDynamoDB(), tableName }),
      };
    },
  },
];

describe("commands on other storages", () => {
  it.each(databases)("$name: list, verify, fork and export work", async (database) => {
    await using desk = await Desk.open();
    const { address, storage } = await database.open(desk.folder);
    await deskOn(storage).run("an order", { agentId: "order-1" });
    const there = { env: { AGENT_PERSISTENCE_STORAGE: address } };
    expect(await desk.command(["fork", "order-1", "order-2", "--yes"], there)).toMatchObject({ code: 0 });
    const listed = await desk.command(["list", "--json"], there);
    expect(itemsOf(listed)).toMatchObject([
      { agentId: "order-1", status: "waiting" },
      { agentId: "order-2", status: "waiting" },
    ]);
    expect(await desk.command(["verify"], there)).toMatchObject({ code: 0, out: "2 agents are intact.\n" });
    expect(await desk.command(["export", "order-1", "--out", "copy"], there)).toMatchObject({ code: 0 });
    expect(await desk.command(["salvage", "order-1", "--to", "saved", "--yes"], there)).toMatchObject({ code: 2 });
  });

  it.each(["better-sqlite3", "libsql"])(
    "SQLite is opened with the project's %s if Node has no SQLite",
    async (name) => {
      vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
      await using desk = await Desk.open();
      await deskOn(new SqlitePersistenceStorageProvider({ database: libsql(join(desk.folder, "agents.db")) })).run(
        "x",
        {
          agentId: "order-1",
        },
      );
      const folder = join(desk.folder, "node_modules", name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "index.cjs"), driverOf("readonly"));
      await writeFile(join(folder, "package.json"), JSON.stringify({ name, main: "index.cjs" }));
      const there = ["--storage", "sqlite:agents.db"];
      expect(itemsOf(await desk.command(["list", "--json", ...there]))).toMatchObject([{ agentId: "order-1" }]);
      expect(await desk.command(["fork", "order-1", "order-2", "--yes", ...there])).toMatchObject({ code: 0 });
      expect(await readFile(join(desk.folder, "opened.txt"), "utf8")).toBe("true\nfalse\n");
    },
  );

  it("SQLite is opened with node:sqlite if available, and read-only for reads", async () => {
    await using desk = await Desk.open();
    await deskOn(new SqlitePersistenceStorageProvider({ database: libsql(join(desk.folder, "agents.db")) })).run("x", {
      agentId: "order-1",
    });
    await writeFile(join(desk.folder, "own.cjs"), driverOf("readOnly"));
    const own = createRequire(join(desk.folder, "own.cjs"))("./own.cjs") as object;
    vi.spyOn(process, "getBuiltinModule").mockImplementation(((name: string) =>
      name === "node:sqlite" ? { DatabaseSync: own } : undefined) as typeof process.getBuiltinModule);
    const there = ["--storage", "sqlite:agents.db"];
    expect(itemsOf(await desk.command(["list", "--json", ...there]))).toMatchObject([{ agentId: "order-1" }]);
    expect(await desk.command(["fork", "order-1", "order-2", "--yes", ...there])).toMatchObject({ code: 0 });
    expect(await readFile(join(desk.folder, "opened.txt"), "utf8")).toBe("true\nfalse\n");
  });

  it("an unrelated database stays unchanged, and import creates a new one", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.command(["export", "order-1", "-o", "copy"]);
    const other = libsql(join(desk.folder, "other.db"));
    other.exec("CREATE TABLE mine (id INTEGER)");
    const before = await readFile(join(desk.folder, "other.db"));
    const there = ["--storage", "sqlite:other.db"];
    for (const args of [["list"], ["verify"], ["fork", "a", "b", "--yes"]])
      expect(await desk.command([...args, ...there])).toMatchObject({ code: 3 });
    expect(await readFile(join(desk.folder, "other.db"))).toEqual(before);
    await desk.command(["backup", "saved"]);
    const created = ["--storage", "sqlite:new.db"];
    for (const args of [
      ["import", "copy"],
      ["restore", "saved"],
    ])
      expect(await desk.command([...args, ...created])).toMatchObject({
        code: 4,
        err: expect.stringContaining(`into sqlite:${join(desk.folder, "new.db")}`),
      });
    expect(await desk.command(["restore", "none", "--yes", ...created])).toMatchObject({ code: 3 });
    expect(await readdir(desk.folder)).not.toContain("new.db");
    expect(await desk.command(["import", "copy", "--yes", ...created])).toMatchObject({ code: 0 });
    expect(itemsOf(await desk.command(["list", "--json", "--storage", "sqlite:new.db"]))).toHaveLength(1);
    await writeFile(join(desk.folder, "text.db"), "no database");
    for (const args of [
      ["list", "--storage", "sqlite:text.db"],
      ["import", "copy", "--yes", "--storage", "sqlite:nowhere/new.db"],
    ])
      expect(await desk.command(args)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/The database .*(text|new)\.db cannot be opened: /),
      });
  });
});
