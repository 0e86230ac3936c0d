import fc from "fast-check";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  type AgentContext,
  type PromptExecutor,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { crashing, liveLines } from "../persistence/lines/support/liveLines.ts";
import { linesAgent } from "../persistence/lines/support/linesAgent.ts";
import { linesOf } from "../persistence/lines/support/randomLines.ts";
import { memory } from "../persistence/support/storages.ts";
import { cases } from "../soak/cases.ts";

const model: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: "done" } }) };

function waitingAgent(storage: InMemoryPersistenceStorageProvider, prompt = "Paid") {
  const graph = strategy<string, string>("waits", (g) => {
    const only = g.node("only", async (input: string, context: AgentContext) => {
      await context.sleep(1);
      const amount = await context.receive("paid", { schema: z.number() });
      context.llm.append({ role: "user", content: `${prompt} ${amount}` }, await context.llm.request());
      return `${input} ${amount}`;
    });
    const last = g.node("last", async (input: string) => input);
    g.edge(g.start, only);
    g.edge(only, last);
    g.edge(last, g.finish);
  });
  const common = { id: "a", promptExecutor: model, llmModel: "small", strategy: graph };
  return new AIAgent(common).install(Persistence, { storage });
}

/** Its nodes see a shorter history than they made, and the second one edits it. */
function trimmingAgent(storage: InMemoryPersistenceStorageProvider) {
  const graph = strategy<string, string>("trims", (g) => {
    const many = g.node("many", async (input: string, { llm }: AgentContext) => {
      for (const content of ["one", "two", "three", "four"]) llm.append({ role: "user", content });
      return input;
    });
    const asks = g.node("asks", async (input: string, { llm }: AgentContext) => {
      llm.append(await llm.request());
      llm.rewrite((messages) => [{ role: "user", content: "before" }, ...messages.slice(1)]);
      return `${input} ${llm.messages.length}`;
    });
    g.edge(g.start, many);
    g.edge(many, asks);
    g.edge(asks, g.finish);
  });
  const trimming = { messages: 2, summarize: () => "summary" };
  const common = { id: "a", promptExecutor: model, llmModel: "small", strategy: graph };
  return new AIAgent(common).install(Persistence, { storage, enableAutomaticPersistence: false, trimming });
}

const storage = new InMemoryPersistenceStorageProvider();

beforeAll(async () => {
  const agent = waitingAgent(storage);
  const run = agent.run("go", { runId: "r" });
  await persistence(agent).agent().send("paid", 7);
  let result = await run;
  while (result.status === "waiting") result = await agent.resume();
});

it("a run that slept and received an event replays exactly", async () => {
  const replayed = await replayRun(waitingAgent(storage), { storage, agentId: "a" });
  expect(replayed).toMatchObject({ matches: true, output: "go 7" });
  const other = await replayRun(waitingAgent(storage, "Got"), { storage, agentId: "a" });
  expect(other).toMatchObject({ matches: false });
});

it("a pruned log is refused with a typed error", async () => {
  const agent = waitingAgent(storage);
  await persistence(agent).prune({ agentId: "a", policy: { maxCheckpoints: 2 } });
  await expect(replayRun(agent, { storage, agentId: "a" })).rejects.toMatchObject({ code: "recording_pruned" });
});

it("a history that is trimmed between nodes without a checkpoint replays exactly", async () => {
  const trimmed = new InMemoryPersistenceStorageProvider();
  const agent = () => trimmingAgent(trimmed);
  expect(await agent().run("go")).toMatchObject({ output: "go 4" });
  const replayed = await replayRun(agent(), { storage: trimmed, agentId: "a" });
  expect(replayed.divergence).toBeUndefined();
  expect(replayed.matches).toBe(true);
});

it("branches with trimmed histories replay exactly after crashes, rollbacks and answers", async () => {
  await fc.assert(
    fc.asyncProperty(linesOf(1), async (lines) => {
      const opened = await memory.open();
      const world = await liveLines({ ...lines, trims: true }, crashing(opened));
      const replayed = await replayRun(linesAgent(world, opened()), { storage: opened(), agentId: "a" });
      expect(replayed.divergence).toBeUndefined();
      expect(replayed).toMatchObject({ matches: true, status: "completed" });
    }),
    { numRuns: cases(5, 100) },
  );
});
