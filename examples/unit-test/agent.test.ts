import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  tool,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const turns = [
  { toolCalls: ["Alex", "Maria"].map((name) => ({ toolName: "createUser", input: { name } })) },
  { toolCalls: [{ toolName: "createUser", input: { name: "Daniel" } }] },
  "All three are signed up.",
];

/** The agent under test. `users` represents a database with the tool-call id as its unique key. */
function signUpAgent(storage: PersistenceStorageProvider, users: Map<string, string>): AIAgent {
  const createUser = tool({
    name: "createUser",
    description: "Signs a person up.",
    inputSchema: z.object({ name: z.string() }),
    effect: "idempotent",
    execute: ({ name }, { toolCallId }) => void users.set(toolCallId, name),
  });
  const promptExecutor = scriptedModel(turns);
  return new AIAgent({ id: "sign-up", promptExecutor, llmModel: "scripted", tools: [createUser] }).install(
    Persistence,
    { storage },
  );
}

it("signs everybody up", async () => {
  const users = new Map<string, string>();
  const result = await signUpAgent(new InMemoryPersistenceStorageProvider(), users).run("Sign them up");
  expect(result).toMatchObject({ status: "completed", output: "All three are signed up." });
  expect([...users.values()]).toEqual(["Alex", "Maria", "Daniel"]);
});

it("signs each person up once, whichever save it crashes after", async () => {
  for (let saves = 0, crashed = true; crashed; saves++) {
    const storage = new InMemoryPersistenceStorageProvider();
    const users = new Map<string, string>();
    const first = signUpAgent(crashAfter(storage, saves), users).run("Sign them up", { runId: "monday" });
    crashed = await first.then(
      () => false,
      () => true,
    );
    // Resumes what was begun, starts what was not, and only repeats the answer of what was finished.
    const result = await signUpAgent(storage, users).run("Sign them up", { runId: "monday" });
    expect(result).toMatchObject({ status: "completed", output: "All three are signed up." });
    expect([...users.values()].toSorted()).toEqual(["Alex", "Daniel", "Maria"]);
  }
});
