// Storages beyond one machine. Clients are passed in; the shapes below are those of the real ones.
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PromptExecutor,
} from "agent-persistence";
import { type DynamoDBClient, DynamoDBPersistenceStorageProvider, dynamoDBTable } from "agent-persistence/dynamodb";
import { FileBlobStore } from "agent-persistence/file";
import {
  type PostgresClient,
  postgresMigrations,
  PostgresPersistenceStorageProvider,
} from "agent-persistence/postgres";
import { S3BlobStore, type S3Client } from "agent-persistence/s3";
import { type SqliteDatabase, SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import {
  type AgentSummary,
  type BlobStore,
  type ListOptions,
  type LogOwner,
  LogPersistenceStorageProvider,
  type LogTable,
  type OwnedLog,
  type RecordLog,
  TableRecordLog,
} from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import type { RecordLogHarness } from "agent-persistence/testing";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};
declare const promptExecutor: PromptExecutor;
const agentOn = (storage: LogPersistenceStorageProvider) =>
  new AIAgent({ promptExecutor, llmModel: "m" }).install(Persistence, { storage });

// ---- 1 SQLite: node:sqlite, better-sqlite3 and libsql are taken as they are
declare class DatabaseSync {
  constructor(path: string);
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
}
interface StatementSync {
  run(...values: (string | number | bigint | null | Uint8Array)[]): {
    changes: number | bigint;
    lastInsertRowid: number | bigint;
  };
  get(...values: (string | number | bigint | null | Uint8Array)[]): Record<string, unknown> | undefined;
  all(...values: (string | number | bigint | null | Uint8Array)[]): Record<string, unknown>[];
}
declare class BetterSqlite3 {
  constructor(path: string);
  exec(sql: string): this;
  prepare(sql: string): BetterStatement<unknown[]> | BetterStatement<[{}]>;
}
interface BetterStatement<Values extends unknown[]> {
  run(...values: Values): { changes: number; lastInsertRowid: number | bigint };
  get(...values: Values): unknown;
  all(...values: Values): unknown[];
}
const sqlite = new SqlitePersistenceStorageProvider({ database: new DatabaseSync("agents.db") });
new SqlitePersistenceStorageProvider({
  database: new BetterSqlite3("agents.db"),
  leaseMs: 30_000,
  blobs: new FileBlobStore({ directory: "blobs" }),
});
const database: SqliteDatabase = new DatabaseSync(":memory:");
// @ts-expect-error a path is no database: which driver reads it is the user's choice
new SqlitePersistenceStorageProvider({ database: "agents.db" });

// ---- 2 Postgres: a Pool of pg, a Pool of Neon and PGlite are taken as they are; postgres.js by one function
declare class Pool {
  constructor(config: { connectionString: string; max?: number });
  // oxlint-disable-next-line typescript/no-explicit-any -- as pg declares it
  query<Row = any>(text: string, values?: unknown[]): Promise<{ rows: Row[]; rowCount: number | null }>;
  on(event: "error", listener: (error: Error) => void): this;
  end(): Promise<void>;
}
declare class PGlite {
  query<Row>(
    text: string,
    // oxlint-disable-next-line typescript/no-explicit-any -- as PGlite declares it
    values?: any[],
    options?: { readonly rowMode?: "array" | "object" },
  ): Promise<{ rows: Row[] }>;
}
declare const sql: {
  unsafe(text: string, values?: never[]): PromiseLike<readonly Record<string, unknown>[]>;
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ readonly unlisten: () => Promise<void> }>;
};
const pool = new Pool({ connectionString: "postgres://…" });
const postgres = new PostgresPersistenceStorageProvider({ client: pool });
new PostgresPersistenceStorageProvider({ client: new PGlite() });
const client: PostgresClient = { query: async (text, values) => ({ rows: await sql.unsafe(text, values as never[]) }) };
new PostgresPersistenceStorageProvider({
  client,
  schema: "tenant_7",
  migrate: false, // the role has no DDL rights: a schema that is missing or old is refused with `storage_not_ready`
  preparedStatements: false, // the default: a pooler in transaction mode
  listen: async (channel, onWake, onReconnect) => {
    const { unlisten } = await sql.listen(channel, onWake, onReconnect);
    return { close: unlisten };
  },
});
await postgres.migrate(); // any number of processes at once
for (const { version, statements } of postgresMigrations({ schema: "tenant_7" })) {
  same<typeof version, number>();
  same<typeof statements, readonly string[]>();
}

// ---- 3 DynamoDB: the aggregated client of the AWS SDK; large values to S3
declare const dynamo: {
  getItem(input: {
    TableName: string | undefined;
    Key: Record<string, object> | undefined;
    ConsistentRead?: boolean | undefined;
  }): Promise<{ Item?: Record<string, object> | undefined; $metadata: object }>;
  putItem(input: {
    TableName: string | undefined;
    Item: Record<string, object> | undefined;
    ConditionExpression?: string | undefined;
  }): Promise<{ $metadata: object }>;
  updateItem(input: {
    TableName: string | undefined;
    Key: Record<string, object> | undefined;
    UpdateExpression?: string | undefined;
  }): Promise<{ Attributes?: Record<string, object> | undefined }>;
  deleteItem(input: {
    TableName: string | undefined;
    Key: Record<string, object> | undefined;
  }): Promise<{ $metadata: object }>;
  batchGetItem(input: { RequestItems: Record<string, object> | undefined }): Promise<{
    Responses?: Record<string, Record<string, object>[]> | undefined;
    UnprocessedKeys?: Record<string, object> | undefined;
  }>;
  batchWriteItem(input: {
    RequestItems: Record<string, object[]> | undefined;
  }): Promise<{ UnprocessedItems?: Record<string, object[]> | undefined }>;
  query(input: {
    TableName: string | undefined;
    KeyConditionExpression?: string | undefined;
  }): Promise<{ Items?: Record<string, object>[] | undefined; LastEvaluatedKey?: Record<string, object> | undefined }>;
  createTable(input: {
    TableName: string | undefined;
    AttributeDefinitions: object[] | undefined;
    KeySchema: object[] | undefined;
    BillingMode?: "PAY_PER_REQUEST" | "PROVISIONED" | undefined;
  }): Promise<object>;
};
declare const s3: {
  putObject(input: {
    Bucket: string | undefined;
    Key: string | undefined;
    Body?: string | Uint8Array | undefined;
  }): Promise<object>;
  getObject(input: {
    Bucket: string | undefined;
    Key: string | undefined;
  }): Promise<{ Body?: { transformToByteArray(): Promise<Uint8Array> } | undefined }>;
  deleteObject(input: { Bucket: string | undefined; Key: string | undefined }): Promise<object>;
};
const blobs: BlobStore = new S3BlobStore({ client: s3, bucket: "agents", prefix: "prod/" });
const dynamodb = new DynamoDBPersistenceStorageProvider({
  client: dynamo,
  tableName: "agents",
  blobs,
  expireDroppedAfterDays: 7,
});
const asDynamo: DynamoDBClient = dynamo;
const asS3: S3Client = s3;
await dynamo.createTable(dynamoDBTable({ tableName: "agents" }));

// ---- 4 all of them are what the rest of the library takes
for (const storage of [sqlite, postgres, dynamodb, new InMemoryPersistenceStorageProvider()]) {
  await agentOn(storage).run("hello", { agentId: "a" });
  new TaskManager({ storage });
  const { durable, processes, machines, listing, narrows } = storage.log.capabilities;
  same<typeof processes, "one" | "many">();
  same<typeof machines, "one" | "many">();
  same<typeof durable, boolean>();
  same<typeof listing, "exact" | "eventual" | undefined>();
  same<typeof narrows, true | undefined>();
}
persistence(agentOn(postgres)).agent("a");

// ---- 5 the contract, as it has become
declare const log: RecordLog;
declare const owned: OwnedLog;
const asked: ListOptions = {
  status: ["queued", "in_progress"],
  free: true,
  dueBefore: "2026-12-01T00:00:00.000Z",
  updatedBefore: "2026-12-01T00:00:00.000Z",
  after: "…",
  limit: 100,
};
for await (const summary of log.list(asked)) {
  same<typeof summary, AgentSummary>();
  same<typeof summary.checkpoints, number | undefined>();
}
const wake = await log.watch?.(() => {});
await wake?.close();
await owned.prune();
const me: LogOwner = { host: "h", processId: 1, nonce: "n", incarnation: "boot 7, namespace 4026531836, start 1234" };

// ---- 6 a backend of one's own: the table, nothing else
declare const table: LogTable;
const mine = new LogPersistenceStorageProvider(new TableRecordLog(table, { leaseMs: 15_000, retryMs: 30_000 }));
agentOn(mine);
const harness: RecordLogHarness = {
  log: mine.log,
  reopen: () => new TableRecordLog(table),
  advance: () => {},
  silence: (silenced: OwnedLog) => void silenced,
  alter: async (agentId: string, position: number) => void [agentId, position],
  loseAnswer: () => {},
};
void [database, asDynamo, asS3, me, harness];
