import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, RollbackToolRegistry, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

const names = ["Alex", "Daniel", "Maria"];

/** Runs the agent. The process of Next.js is killed in the call for the person in `diesAt`. */
export async function POST(request) {
  const diesAt = new URL(request.url).searchParams.get("diesAt");
  const { output } = await signUpAgent(diesAt).run("Sign them up.", { agentId: "team", runId: "monday" });
  return Response.json({ output, people: people() });
}

/** Rolls the agent back. */
export async function DELETE() {
  const durable = persistence(signUpAgent()).agent("team");
  const [first] = await durable.getCheckpoints();
  const { reverted } = await durable.rollbackToCheckpoint(first.checkpointId);
  return Response.json({ reverted: reverted.length, people: people() });
}

function signUpAgent(diesAt) {
  const fileOf = (toolCallId) => join(process.env.PEOPLE, `user-${toolCallId}`);
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
  const inverse = (_input, { toolCallId }) => rmSync(fileOf(toolCallId));
  const calls = names.map((name) => ({ toolCalls: [{ toolName: "signUp", input: { name } }] }));
  const agent = new AIAgent({
    promptExecutor: scriptedModel([...calls, "Done."]),
    llmModel: "scripted",
    tools: [signUp],
  });
  return agent.install(Persistence, {
    storage: new FilePersistenceStorageProvider({ directory: join(process.env.PEOPLE, "agents") }),
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(signUp, inverse, { effect: "idempotent" }),
  });
}

function people() {
  return readdirSync(process.env.PEOPLE).filter((file) => file.startsWith("user-")).length;
}
