import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy, tool } from "agent-persistence";
import { compareRuns, readRunTrace, replayRun } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const inputSchema = z.object({});

/** Both calls of the node, and both calls of the model, start in one order and end in the other. */
function parallelAgent(storage: InMemoryPersistenceStorageProvider) {
  const end: (() => void)[] = [];
  const slow = tool({
    name: "slow",
    description: "",
    inputSchema,
    execute: () => new Promise<string>((resolve) => end.push(() => resolve("slow"))),
  });
  const fast = tool({
    name: "fast",
    description: "",
    inputSchema,
    execute: async () => {
      while (end.length === 0) await new Promise(setImmediate);
      setImmediate(end.pop() ?? expect.unreachable());
      return "fast";
    },
  });
  const graph = strategy<string, string>("parallel", (g) => {
    const node = g.node("node", async (input: string, { llm, tools }) => {
      await Promise.all([tools.call(slow, {}), tools.call(fast, {})]);
      const response = await llm.request();
      llm.append(response, await tools.execute(response));
      return input;
    });
    g.edge(g.start, node);
    g.edge(node, g.finish);
  });
  const promptExecutor = scriptedModel([{ toolCalls: ["slow", "fast"].map((toolName) => ({ toolName, input: {} })) }]);
  const common = { id: "a", promptExecutor, llmModel: "none", strategy: graph, tools: [slow, fast] };
  return new AIAgent(common).install(Persistence, { storage });
}

it("a run and its replay have the same parallel calls in the same order", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  await parallelAgent(storage).run("go");
  const { trace } = await replayRun(parallelAgent(storage), { storage, agentId: "a" });
  expect(trace.visits[0]?.calls.map(({ tool: name }) => name)).toEqual(["slow", "fast", "slow", "fast"]);
  const recorded = await readRunTrace(storage, { agentId: "a" });
  expect(compareRuns(recorded, trace)).toMatchObject({ isSame: true });
});
