import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AIAgent, Persistence, persistence, RollbackToolRegistry, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

// An agent on the file storage is killed inside its second call, resumed by another process, and rolled back.
const names = ["Alex", "Daniel", "Maria"];

function signUpAgent(directory, diesAt) {
  const fileOf = (toolCallId) => join(directory, `user-${toolCallId}`);
  const signUp = tool({
    name: "signUp",
    description: "Signs a person up.",
    inputSchema: z.object({ name: z.string() }),
    effect: "idempotent",
    execute: ({ name }, { toolCallId }) => {
      writeFileSync(fileOf(toolCallId), name);
      if (name === diesAt) process.kill(process.pid, "SIGKILL");
    },
  });
  const calls = names.map((name) => ({ toolCalls: [{ toolName: "signUp", input: { name } }] }));
  const promptExecutor = scriptedModel([...calls, "Done."]);
  return new AIAgent({ promptExecutor, llmModel: "scripted", tools: [signUp] }).install(Persistence, {
    storage: new FilePersistenceStorageProvider({ directory: join(directory, "agents") }),
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(
      signUp,
      (_input, { toolCallId }) => rmSync(fileOf(toolCallId)),
      { effect: "idempotent" },
    ),
  });
}

function usersIn(directory) {
  return readdirSync(directory).filter((file) => file.startsWith("user-")).length;
}

async function runOnce(directory, diesAt) {
  const { output } = await signUpAgent(directory, diesAt).run("Sign them up.", { agentId: "team", runId: "monday" });
  assert.equal(output, "Done.");
}

function inAnotherProcess(...args) {
  const start = globalThis.Deno === undefined ? [] : ["run", "--allow-all"];
  const file = fileURLToPath(import.meta.url);
  return spawnSync(process.execPath, [...start, file, ...args], { stdio: ["ignore", "inherit", "inherit"] });
}

async function killAndResume() {
  const directory = mkdtempSync(join(tmpdir(), "agent-persistence-platform-"));
  assert.equal(inAnotherProcess(directory, "Daniel").signal, "SIGKILL");
  assert.equal(usersIn(directory), 2);
  assert.equal(inAnotherProcess(directory).status, 0);
  assert.equal(usersIn(directory), 3);
  const durable = persistence(signUpAgent(directory)).agent("team");
  const [first] = await durable.getCheckpoints();
  const { reverted } = await durable.rollbackToCheckpoint(first.checkpointId);
  assert.deepEqual(
    reverted.map(({ input }) => input.name),
    names.toReversed(),
  );
  assert.equal(usersIn(directory), 0);
  rmSync(directory, { recursive: true });
  const { bun, deno, node } = process.versions;
  console.log(`killed, resumed and rolled back: ${bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`}`);
}

const [given, diesAt] = process.argv.slice(2);
await (given === undefined ? killAndResume() : runOnce(given, diesAt));
