import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { persistence } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { timelinePage } from "agent-persistence/timeline";
import { openStorage, type StorageName } from "../openStorage.ts";
import { addressOf, seeIt } from "../seeIt.ts";
import { agentId, databaseFile, importAgent } from "./agent.ts";
import { BrokenClaim, claim, sameRows } from "./claims.ts";
import { UserDatabase } from "./database.ts";
import { dataDirectory, demoOptions, UsageError } from "./demoOptions.ts";
import { earlierCheckpoint } from "./earlierCheckpoint.ts";
import { importModel } from "./model.ts";
import { printLine, printTable } from "./print.ts";
import { CsvError, readPeople, type Person } from "./people.ts";
import { runImport } from "./runImport.ts";

interface Demo {
  readonly csvFile: string;
  readonly directory: string;
  readonly people: readonly Person[];
  readonly database: UserDatabase;
  readonly storage: StorageName;
}

async function demo(): Promise<void> {
  const { csvFile, storage, ...options } = demoOptions();
  const people = readPeople(csvFile);
  const directory = dataDirectory(options.directory);
  using database = new UserDatabase(databaseFile(directory));
  console.log(`Importing ${people.length} people from ${csvFile}, model: ${importModel(csvFile).name}`);
  console.log(`Database and agent are in ${directory}, storage: ${storage}`);
  const all = { csvFile, directory, people, database, storage };
  await crash(all);
  await resume(all);
  await rollBack(all);
  await show(all);
  console.log(`\n${seeIt(agentId, addressOf(storage, directory))}`);
}

async function crash({ csvFile, directory, people, database, storage }: Demo): Promise<void> {
  const half = Math.ceil(people.length / 2);
  console.log(`\n1. The agent runs in a process of its own, and is killed half-way`);
  const options = { csv: csvFile, directory, storage, "halt-after": String(half) };
  const { processId, signal } = await runImport(options, (line, kill) => {
    printLine(line);
    if ("waiting" in line) kill();
  });
  const { length } = database.all();
  claim(signal === "SIGKILL", `process ${processId} was killed with SIGKILL, inside a tool`);
  claim(length >= half, `${length} of ${people.length} people were in the table by then`);
}

async function resume({ csvFile, directory, people, database, storage }: Demo): Promise<void> {
  console.log(`\n2. The same program starts again and continues`);
  const { processId, exitCode } = await runImport({ csv: csvFile, directory, storage }, printLine);
  const users = database.all();
  claim(exitCode === 0, `process ${processId} brought the import to its end`);
  claim(sameRows(users, people), `${users.length} of ${people.length} people are in the table, each once`);
}

async function rollBack({ csvFile, directory, people, database, storage }: Demo): Promise<void> {
  await using agent = importAgent(await openStorage(storage, directory), csvFile, { database });
  const durable = persistence(agent).agent(agentId);
  const target = earlierCheckpoint(await durable.getCheckpoints(), people.length / 3);
  if (target === undefined) throw new BrokenClaim("There is no checkpoint to roll back to");
  const { checkpoint, userIds } = target;
  console.log(`\n3. Rollback to checkpoint ${checkpoint.checkpointId}, when ${userIds.size} of them were in`);
  const before = database.all();
  const { reverted, failed, irreversible } = await durable.rollbackToCheckpoint(checkpoint.checkpointId);
  const after = database.all();
  printTable(before, after);
  const kept = before.filter(({ id }) => userIds.has(id));
  claim(sameRows(after, kept), `the table has exactly those ${kept.length} people again`);
  claim(
    reverted.length === before.length - kept.length && failed.length === 0 && irreversible.length === 0,
    `the report says: reverted ${reverted.length}, failed ${failed.length}, irreversible ${irreversible.length}`,
  );
}

/** Leaves a page that shows all of it. */
async function show({ directory, storage }: Demo): Promise<void> {
  const page = join(directory, "timeline.html");
  await pipeline(timelinePage(inspect(await openStorage(storage, directory)), agentId), createWriteStream(page));
  console.log(`\nTo see what happened, open ${page} in a browser`);
}

try {
  await demo();
} catch (error) {
  const expected = [CsvError, UsageError, BrokenClaim].some((kind) => error instanceof kind);
  if (!expected) throw error;
  console.error((error as Error).message);
  process.exitCode = 1;
}
