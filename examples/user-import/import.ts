import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { AgentPersistenceError } from "agent-persistence";
import { isStorageName, openStorage } from "../openStorage.ts";
import { databaseFile, importAgent } from "./agent.ts";
import { UserDatabase, type SignUp } from "./database.ts";
import type { Line } from "./Line.ts";

/**
 * The agent program: imports a CSV file and reports its progress in lines of JSON. After a crash it continues where it
 * stopped, without any code for this: `run` continues the run with this id. Once that run has ended, `run` returns the
 * recorded answer instead of importing again.
 */
const { values } = parseArgs({
  options: {
    csv: { type: "string" },
    directory: { type: "string" },
    storage: { type: "string" },
    "halt-after": { type: "string" },
  },
});

const { csv = "people.csv", directory = ".", storage: storageName = "file" } = values;

async function importPeople(haltAfter: number): Promise<void> {
  if (!isStorageName(storageName)) throw new RangeError(`there is no storage ${storageName}`);
  const storage = await openStorage(storageName, directory);
  using database = new UserDatabase(databaseFile(directory));
  const onSignUp = async ({ user, added }: SignUp): Promise<void> => {
    const count = database.all().length;
    say({ signedUp: user.name, added, count });
    if (count >= haltAfter) await halted();
  };
  await using agent = importAgent(storage, csv, { database, onSignUp });
  const result = await agent.run("Import the people.", { runId: `import of ${csv}` });
  if (result.status === "completed") say({ answer: result.output });
}

function say(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** For the demo: stops inside the tool after the insert, and reports it until the demo kills the process. */
function halted(): Promise<never> {
  return new Promise(() => setInterval(() => say({ waiting: true }), 200));
}

try {
  await importPeople(Number(values["halt-after"] ?? Infinity));
} catch (error) {
  if (!AgentPersistenceError.isInstance(error)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
