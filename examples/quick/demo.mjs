import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AIAgent, Persistence, persistence, RollbackToolRegistry, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

const names = ["Alex", "Daniel", "Maria"];

/** The agent, equal in every process. The files `user-*.txt` represent the rows of a database. */
function signUpAgent(folder, diesAt) {
  const fileOf = (toolCallId) => join(folder, `user-${toolCallId}.txt`);
  const signUp = tool({
    name: "signUp",
    description: "Signs a person up.",
    inputSchema: z.object({ name: z.string() }),
    effect: "idempotent", // the same call writes the same file, however often it runs
    execute: ({ name }, { toolCallId }) => {
      writeFileSync(fileOf(toolCallId), name);
      console.log(`   signed up ${name}`);
      if (name === diesAt) process.kill(process.pid, "SIGKILL");
    },
  });
  const takeBack = ({ name }, { toolCallId }) => {
    rmSync(fileOf(toolCallId), { force: true });
    console.log(`   took back ${name}`);
  };
  const calls = names.map((name) => ({ toolCalls: [{ toolName: "signUp", input: { name } }] }));
  const promptExecutor = scriptedModel([...calls, "All three are signed up."]);
  return new AIAgent({ promptExecutor, llmModel: "scripted", tools: [signUp] }).install(Persistence, {
    storage: new FilePersistenceStorageProvider({ directory: join(folder, "agents") }),
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(signUp, takeBack, { effect: "idempotent" }),
  });
}

/** Runs this file in a process of its own, as a server that starts again would. */
function inAnotherProcess(...args) {
  const { signal, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...args], {
    stdio: "inherit",
  });
  return { signal, status };
}

function usersIn(folder) {
  const files = readdirSync(folder).filter((file) => file.startsWith("user-"));
  return files.map((file) => readFileSync(join(folder, file), "utf8")).toSorted();
}

async function demo() {
  const folder = mkdtempSync(join(tmpdir(), "agent-persistence-demo-"));
  console.log("1. An agent signs three people up. Its process is killed inside the second call.");
  assert.equal(inAnotherProcess(folder, "Daniel").signal, "SIGKILL");

  console.log("2. The same program starts again. The call that was interrupted runs again with its id.");
  assert.equal(inAnotherProcess(folder).status, 0);
  assert.deepEqual(usersIn(folder), names);
  console.log("   each person is signed up once");

  console.log("3. Rollback to the first checkpoint, with the effects of the tools.");
  const agent = persistence(signUpAgent(folder)).agent("team-7");
  const [first] = await agent.getCheckpoints();
  await agent.rollbackToCheckpoint(first.checkpointId);
  assert.deepEqual(usersIn(folder), []);
  console.log("   nobody is signed up");
  console.log(`See what it did: npx agent-persistence tree team-7 --storage file:${join(folder, "agents")}`);
}

const [folder, diesAt] = process.argv.slice(2);
if (folder === undefined) await demo();
else {
  const { output } = await signUpAgent(folder, diesAt).run("Sign them up.", { agentId: "team-7", runId: "monday" });
  console.log(`   the answer: ${output}`);
}
