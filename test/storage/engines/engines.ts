import { join } from "node:path";
import type { RecordLogHarness } from "agent-persistence/testing";
import { inFiles, inMemory } from "../../testing/conformance/logsUnderTest.ts";
import { testDirectory } from "../file/support/fixture.ts";
import { databaseUrl, newSchema } from "../postgres/database.ts";
import { inDynamoDB } from "../dynamodb/inDynamoDB.ts";
import { dynamoDBEndpoint, newTable } from "../dynamodb/localDynamoDB.ts";
import { inPostgres } from "../postgres/inPostgres.ts";
import { inSqlite } from "../sqlite/inSqlite.ts";
import type { StoragePlace } from "./storageAt.ts";

/** A storage of this package. */
export interface Engine {
  readonly name: string;
  /** What the suite of logs tests. */
  readonly harness: () => RecordLogHarness | Promise<RecordLogHarness>;
  /** Makes an empty storage that several processes may use, for one test. Absent: only one process has it. */
  readonly place?: () => Promise<StoragePlace>;
  /** Whether the server of such a place takes milliseconds for each request: a short run then does less. */
  readonly isSlow?: true;
}

/**
 * Every storage of this package: the suite of logs, the random sequences of commands and the suites of several processes
 * run on each. What opens a place is in {@link StoragePlace}.
 */
export const engines: readonly Engine[] = [
  { name: "in memory", harness: inMemory },
  { name: "in files", harness: inFiles, place: async () => ({ engine: "file", directory: await testDirectory() }) },
  { name: "in SQLite", harness: inSqlite, place: async () => ({ engine: "sqlite", file: await sqliteFile() }) },
  { name: "in Postgres", harness: inPostgres, place: postgresSchema },
  { name: "in DynamoDB", harness: inDynamoDB, place: dynamoDBTable, isSlow: true },
];

/** An engine that several processes may use. */
export type SharedEngine = Engine & Required<Pick<Engine, "place">>;

export const sharedEngines: readonly SharedEngine[] = engines.filter(
  (engine): engine is SharedEngine => engine.place !== undefined,
);

async function postgresSchema(): Promise<StoragePlace> {
  return { engine: "postgres", url: await databaseUrl(), schema: newSchema() };
}

async function dynamoDBTable(): Promise<StoragePlace> {
  return { engine: "dynamodb", endpoint: await dynamoDBEndpoint(), tableName: await newTable() };
}

async function sqliteFile(): Promise<string> {
  return join(await testDirectory(), "agents.db");
}
