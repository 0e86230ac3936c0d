import {
  type CheckpointSaverTestInitializer,
  deltaChannelHistoryTests,
  getTupleTests,
  validate,
} from "@langchain/langgraph-checkpoint-validation";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PersistenceSaver, type PersistenceSaverOptions } from "agent-persistence/langgraph";
import { newTable, dynamoDBEndpoint } from "../../storage/dynamodb/localDynamoDB.ts";
import { storageAt } from "../../storage/engines/storageAt.ts";
import { databaseUrl, newSchema } from "../../storage/postgres/database.ts";
import { wholeSoak } from "../../soak/cases.ts";

// LangGraph's suite is written for test runners that have their functions in the global scope.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

const folders: string[] = [];
afterAll(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "agent-persistence-"));
  folders.push(folder);
  return folder;
}

type Open = () => PersistenceSaverOptions["storage"] | Promise<PersistenceSaverOptions["storage"]>;

const inSqlite: Open = () => storageAt({ engine: "sqlite", file: join(newFolder(), "threads.db") });
const inPostgres: Open = async () => storageAt({ engine: "postgres", url: await databaseUrl(), schema: newSchema() });
const inDynamoDB: Open = async () =>
  storageAt({ engine: "dynamodb", endpoint: await dynamoDBEndpoint(), tableName: await newTable() });

/** Each has all 726 tests; on the storages that take longest, only a whole soak runs more than a few. */
const whole: Record<string, Open> = {
  "in memory": () => new InMemoryPersistenceStorageProvider(),
  "in files": () => new FilePersistenceStorageProvider({ directory: newFolder() }),
};
const slow: Record<string, Open> = { "in SQLite": inSqlite, "in Postgres": inPostgres, "in DynamoDB": inDynamoDB };
for (const [name, open] of Object.entries(wholeSoak ? { ...whole, ...slow } : whole)) {
  validate(saversOn(name, open));
  deltaChannelHistoryTests(saversOn(name, open));
}
if (!wholeSoak) for (const [name, open] of Object.entries(slow)) getTupleTests(saversOn(name, open));

function saversOn(name: string, open: Open): CheckpointSaverTestInitializer<PersistenceSaver> {
  return {
    checkpointerName: name,
    createCheckpointer: async () => new PersistenceSaver({ storage: await open() }),
    destroyCheckpointer: (saver) => saver[Symbol.asyncDispose](),
  };
}
