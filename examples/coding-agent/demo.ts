import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { persistence, type RollbackReport } from "agent-persistence";
import { FileConflictError, type ConflictHandler } from "agent-persistence/workspace";
import { seeIt } from "../seeIt.ts";
import { agentId, codingAgent, task } from "./agent.ts";
import { BrokenClaim, claim } from "./claims.ts";
import { showDrift } from "./drift.ts";
import { codingModel } from "./model.ts";
import { greetingsFile, Repository } from "./Repository.ts";

const directory = mkdtempSync(join(tmpdir(), "coding-agent-"));
const storage = join(directory, "agent");

async function demo(): Promise<void> {
  const repository = Repository.create(join(directory, "project"));
  console.log(`Repository and agent are in ${directory}, model: ${codingModel().name}`);
  await work(repository);
  await mergeBack(repository);
  await overlap(repository);
  console.log("\n4. Others change the repository while a task waits for its next step: drift of each kind");
  await showDrift(directory);
  console.log(`\n${seeIt(agentId, `file:${storage}`)}`);
}

async function work(repository: Repository): Promise<void> {
  console.log("\n1. The agent works on the repository");
  const { agent } = codingAgent(repository, storage);
  const result = await agent.run(task);
  if (result.status === "completed") console.log(`   ${result.output}`);
  for (const { fileChanges } of await persistence(agent).agent(agentId).getCheckpoints())
    for (const [what, files] of Object.entries(fileChanges) as [string, readonly { readonly path: string }[]][])
      for (const { path } of files) console.log(`   ${what} ${path}`);
  claim(repository.branches.includes("polite"), 'there is a branch "polite"');
  claim(repository.read(greetingsFile).includes("Good day"), "greet says Good day");
  claim(repository.changed.includes("test/report.txt"), "the tests have written a report");
}

async function mergeBack(repository: Repository): Promise<void> {
  console.log("\n2. A person changes another line of the same file; a rollback reverts only the changes of the agent");
  repository.replace(greetingsFile, "Bye ", "So long, ");
  const report = await rollBack(repository, () => "merge");
  printFiles(report);
  const text = repository.read(greetingsFile);
  claim(
    text.includes('"Hello "') && text.includes("So long, "),
    "greet says Hello again, and the person's line is kept",
  );
  claim(repository.changed.join() === greetingsFile, "no other file differs from the last commit");
  claim(repository.branches.join() === "main", "the branch is gone");
  const { agent } = codingAgent(repository, storage);
  const latest = await persistence(agent).agent(agentId).getLatestCheckpoint();
  claim(latest?.messageHistory.every(({ role }) => role === "system") === true, "so are the messages");
}

async function overlap(repository: Repository): Promise<void> {
  console.log("\n3. The agent does it again, and a person changes the very line that it changed");
  await codingAgent(repository, storage).agent.resume();
  repository.replace(greetingsFile, "Good day ", "Welcome, ");
  const before = repository.read(greetingsFile);
  const refused: unknown = await rollBack(repository, () => "merge").catch((error: unknown) => error);
  if (!(refused instanceof FileConflictError)) throw refused;
  console.log(`   ${refused.message}`);
  claim(repository.read(greetingsFile) === before && repository.branches.length === 2, "nothing has changed");
  printFiles(await rollBack(repository, () => "use_current"));
  claim(repository.read(greetingsFile) === before, "by choice, the person's file is unchanged");
  claim(repository.branches.join() === "main", "and the rest is reverted");
}

/** To before the model was first asked. */
async function rollBack(repository: Repository, onConflict: ConflictHandler): Promise<RollbackReport> {
  const { agent, workspace } = codingAgent(repository, storage, onConflict);
  const saved = persistence(agent).agent(agentId);
  const [first] = await saved.getCheckpoints();
  if (!first) throw new BrokenClaim("There is no checkpoint to roll back to");
  for (const { path, change } of await workspace.preview(first.checkpointId))
    console.log(`   preview: ${change} ${path}`);
  return saved.rollbackToCheckpoint(first.checkpointId);
}

function printFiles({ participants, reverted }: RollbackReport): void {
  for (const { toolName } of reverted) console.log(`   reverted a call of ${toolName}`);
  for (const { steps } of participants) for (const { subject, change } of steps) console.log(`   ${change} ${subject}`);
}

try {
  await demo();
} catch (error) {
  if (!(error instanceof BrokenClaim)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
