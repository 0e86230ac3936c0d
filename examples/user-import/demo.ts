import { persistence } from "agent-persistence";
import { agentId, databaseFile, importAgent } from "./agent.ts";
import { claim, sameRows } from "./claims.ts";
import { UserDatabase } from "./database.ts";
import { demoOptions, UsageError, type DemoOptions } from "./demoOptions.ts";
import { earlierCheckpoint } from "./earlierCheckpoint.ts";
import type { Line } from "./Line.ts";
import { importModel } from "./model.ts";
import { CsvError, readPeople, type Person } from "./people.ts";
import { runImport } from "./runImport.ts";
import { tableOf } from "./tableOf.ts";

type Demo = DemoOptions & { readonly people: readonly Person[]; readonly database: UserDatabase };

async function demo(): Promise<void> {
  const options = demoOptions();
  const people = readPeople(options.csvFile);
  using database = new UserDatabase(databaseFile(options.directory));
  console.log(`Importing ${people.length} people from ${options.csvFile}, model: ${importModel(options.csvFile).name}`);
  console.log(`Database and agent are in ${options.directory}`);
  const all = { ...options, people, database };
  await crash(all);
  await resume(all);
  await rollBack(all);
}

async function crash({ csvFile, directory, people, database }: Demo): Promise<void> {
  const half = Math.ceil(people.length / 2);
  console.log(`\n1. The agent runs in a process of its own, and is killed half-way`);
  const options = { csv: csvFile, directory, "halt-after": String(half) };
  const { processId, signal } = await runImport(options, (line, kill) => {
    print(line);
    if ("count" in line && line.count >= half) kill();
  });
  const { length } = database.all();
  claim(signal === "SIGKILL", `process ${processId} was killed with SIGKILL, inside a tool`);
  claim(length >= half, `${length} of ${people.length} people were in the table by then`);
}

async function resume({ csvFile, directory, people, database }: Demo): Promise<void> {
  console.log(`\n2. The same program is started again, and goes on`);
  const { processId, exitCode } = await runImport({ csv: csvFile, directory }, print);
  const users = database.all();
  claim(exitCode === 0, `process ${processId} brought the import to its end`);
  claim(sameRows(users, people), `${users.length} of ${people.length} people are in the table, nobody twice`);
}

async function rollBack({ csvFile, directory, people, database }: Demo): Promise<void> {
  await using agent = importAgent(directory, csvFile, { database });
  const durable = persistence(agent).agent(agentId);
  const target = earlierCheckpoint(await durable.getCheckpoints(), people.length / 3);
  if (target === undefined) return claim(false, "there is a checkpoint to roll back to");

  const { checkpoint, userIds } = target;
  console.log(`\n3. Rollback to checkpoint ${checkpoint.checkpointId}, when ${userIds.size} of them were in`);
  const before = database.all();
  const { reverted, failed, irreversible } = await durable.rollbackToCheckpoint(checkpoint.checkpointId);
  const after = database.all();
  console.log(tableOf(before, after));
  claim(
    reverted.length === before.length - userIds.size && failed.length === 0 && irreversible.length === 0,
    `${reverted.length} sign-ups taken back, newest first; ${failed.length} failed, ${irreversible.length} irreversible`,
  );
  claim(
    sameRows(
      after,
      before.filter(({ id }) => userIds.has(id)),
    ),
    `the table holds those ${userIds.size} again, and nobody else`,
  );
}

function print(line: Line): void {
  if ("answer" in line) console.log(`   the model says: ${line.answer}`);
  else if (line.added) console.log(`   + ${line.signedUp}`);
  else
    console.log(
      `   = ${line.signedUp} (nobody knew how this call had ended; run again with its id, it changed nothing)`,
    );
}

try {
  await demo();
} catch (error) {
  if (!(error instanceof CsvError || error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
