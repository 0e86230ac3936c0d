import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { AgentPersistenceError } from "agent-persistence";
import { databaseFile, importAgent } from "./agent.ts";
import { UserDatabase, type SignUp } from "./database.ts";
import type { Line } from "./Line.ts";

/**
 * The agent program: imports a CSV file, and says what it does in lines of JSON. Started again after a crash it goes on
 * where it stopped, with no code for that: `run` goes on with the run of this id, and once that has ended it gives back
 * the recorded answer instead of importing twice.
 */
const { values } = parseArgs({
  options: { csv: { type: "string" }, directory: { type: "string" }, "halt-after": { type: "string" } },
});

async function importPeople(csv: string, directory: string, haltAfter: number): Promise<void> {
  using database = new UserDatabase(databaseFile(directory));
  const onSignUp = async ({ user, added }: SignUp): Promise<void> => {
    const count = database.all().length;
    say({ signedUp: user.name, added, count });
    if (count >= haltAfter) await halted();
  };
  await using agent = importAgent(directory, csv, { database, onSignUp });
  const result = await agent.run("Import the people.", { runId: `import of ${csv}` });
  if (result.status === "completed") say({ answer: result.output });
}

function say(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** For the demo: stands still inside the tool, its insert done, and says so until someone kills the process. */
function halted(): Promise<never> {
  return new Promise(() => setInterval(() => say({ waiting: true }), 200));
}

try {
  await importPeople(values.csv ?? "people.csv", values.directory ?? ".", Number(values["halt-after"] ?? Infinity));
} catch (error) {
  if (!AgentPersistenceError.isInstance(error)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
