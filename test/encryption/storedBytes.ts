import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DynamoDBPersistenceStorageProvider } from "../../src/dynamodb.ts";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { PostgresPersistenceStorageProvider } from "../../src/postgres.ts";
import { SqlitePersistenceStorageProvider } from "../../src/sqlite.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { FakeDynamoDB } from "../storage/dynamodb/support/FakeDynamoDB.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { newSchema, pool } from "../storage/postgres/database.ts";
import { libsql } from "../storage/sqlite/libsql.ts";

/** A storage whose stored bytes a test can read without the library. */
export interface OpenBook {
  readonly storage: LogPersistenceStorageProvider;
  /** Returns everything that is stored, with the names of files. */
  readonly bytes: () => Promise<Buffer>;
  /** Overwrites removed rows, which a database keeps in unused pages. */
  readonly tidy?: () => void;
}

export const openBooks: Readonly<Record<string, () => Promise<OpenBook>>> = {
  "in memory": async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    return { storage, bytes: () => bytesInMemory(storage) };
  },
  "in files": async () => {
    const directory = await testDirectory();
    return { storage: new FilePersistenceStorageProvider({ directory }), bytes: () => bytesUnder(directory) };
  },
  "in SQLite": async () => {
    const directory = await testDirectory();
    const database = libsql(join(directory, "agents.db"));
    const tidy = () => void database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    return { storage: new SqlitePersistenceStorageProvider({ database }), bytes: () => bytesUnder(directory), tidy };
  },
  "in Postgres": async () => {
    const [client, schema] = [await pool(), newSchema()];
    return { storage: new PostgresPersistenceStorageProvider({ client, schema }), bytes: () => bytesInSchema(schema) };
  },
  "in DynamoDB": async () => {
    const client = new FakeDynamoDB();
    const storage = new DynamoDBPersistenceStorageProvider({ client, tableName: "agents" });
    return { storage, bytes: async () => bytesIn([...client.partitions].map(([key, items]) => [key, ...items])) };
  },
};

async function bytesInMemory({ log }: LogPersistenceStorageProvider): Promise<Buffer> {
  const summaries = await collect(log.list());
  const appends = await Promise.all(summaries.map(({ agentId }) => collect(log.encodedAppends?.(agentId) ?? none())));
  const lines = appends.flat();
  const names = [
    ...Buffer.concat(lines)
      .toString()
      .matchAll(/blob:\/\/[0-9a-f]{64}-\d+(?:\.gz)?/g),
  ].flat();
  const blobs = summaries.flatMap(({ agentId }) => names.map(async (name) => log.blobs.getNamed?.(agentId, name)));
  return bytesIn([summaries, lines, names, await Promise.all(blobs)]);
}

async function* none(): AsyncGenerator<never> {}

export async function bytesUnder(directory: string): Promise<Buffer> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return bytesIn([files, await Promise.all(files.map((file) => readFile(file)))]);
}

export async function bytesInSchema(schema: string): Promise<Buffer> {
  const database = await pool();
  const { rows } = await database.query<{ readonly name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1",
    [schema],
  );
  const tables = await Promise.all(rows.map(({ name }) => database.query(`SELECT * FROM ${schema}.${name}`)));
  return bytesIn(tables.map((table) => table.rows as unknown[]));
}

/** Joins all bytes and texts within a value. */
function bytesIn(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value === "string") return Buffer.from(`${value}\n`);
  if (typeof value !== "object" || value === null) return Buffer.from(`${String(value)}\n`);
  const parts = value instanceof Map ? [...value] : Array.isArray(value) ? value : Object.entries(value);
  return Buffer.concat(parts.map((part) => bytesIn(part)));
}
