import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { persistence } from "agent-persistence";
import { compareRuns, readRunTrace, replayRun } from "agent-persistence/replay";
import { openStorage } from "../openStorage.ts";
import { addressOf, seeIt } from "../seeIt.ts";
import { agentId, databaseFile, importAgent } from "../user-import/agent.ts";
import { claim } from "../user-import/claims.ts";
import { UserDatabase } from "../user-import/database.ts";
import { earlierCheckpoint } from "../user-import/earlierCheckpoint.ts";
import { runImport } from "../user-import/runImport.ts";
import { candidate } from "./candidate.ts";
import { printComparison } from "./printComparison.ts";

const csv = fileURLToPath(new URL("../user-import/people.csv", import.meta.url));
const directory = process.argv[2] ?? mkdtempSync(join(tmpdir(), "replay-"));
mkdirSync(directory, { recursive: true });
const importing = { csv, directory };

console.log("1. An import is killed, resumed, rolled back and resumed again");
const { signal } = await runImport({ ...importing, "halt-after": "6" }, (line, kill) => {
  if ("waiting" in line) kill();
});
claim(signal === "SIGKILL", "the first process was killed inside a tool");
await runImport(importing, () => {});
const storage = await openStorage("file", directory);
using database = new UserDatabase(databaseFile(directory));
{
  await using agent = importAgent(storage, csv, { database });
  const durable = persistence(agent).agent(agentId);
  const target = earlierCheckpoint(await durable.getCheckpoints(), 3);
  const { reverted } = await durable.rollbackToCheckpoint(target?.checkpoint.checkpointId ?? "");
  claim(reverted.length > 0, `the rollback reverted ${reverted.length} sign-ups`);
}
const { exitCode } = await runImport(importing, () => {});
claim(exitCode === 0, "the last process completed the run");

console.log("\n2. The same code runs again on the records");
const rows = JSON.stringify(database.all());
const { matches } = await replayRun(importAgent(storage, csv, { database }), { storage, agentId });
claim(matches, "it makes the recorded requests and calls");

console.log("\n3. Another prompt and another tool, with a live model and the recorded outcomes");
const recorded = await readRunTrace(storage, { agentId });
const { trace } = await replayRun(candidate(csv, database), {
  storage,
  agentId,
  model: "live",
  onUnrecordedCall: () => ({ id: 0 }),
});
printComparison(compareRuns(recorded, trace));
claim(JSON.stringify(database.all()) === rows, "no replay has changed the database");
console.log(`\n${seeIt(agentId, addressOf("file", directory))}`);
