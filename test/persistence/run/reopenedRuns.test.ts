import { expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  tool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";

it("a rollback on one lane keeps the recorded results of runs on another", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  let runs = 0;
  const steps = strategy<string, string>("steps", (graph) => {
    const first = graph.node("first", (text: string) => text);
    const second = graph.node("second", (text: string) => `${text} ${++runs}`);
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  const agent = new AIAgent({ id: "a", promptExecutor: scriptedModel([]), llmModel: "none", strategy: steps }).install(
    Persistence,
    { storage },
  );
  await agent.run("go", { runId: "original" });
  const durable = persistence(agent).agent();
  const [first, second] = await durable.getCheckpoints();
  const branch = await agent.resume({ checkpointId: first?.checkpointId ?? "" });
  const other = await agent.resume({ checkpointId: second?.checkpointId ?? "" });
  expect(runs).toBe(3);
  await durable.rollbackToCheckpoint(second?.checkpointId ?? "");
  expect(await agent.run("go", { runId: branch.runId })).toEqual(branch);
  expect(runs).toBe(3);
  // What branched off below the target has no end any more.
  expect(await agent.resume()).toMatchObject({ status: "completed" });
  expect(runs).toBe(4);
  expect(other.runId).not.toBe(branch.runId);
});

it("a node gets values as the log stores them, even if the bytes of a Buffer change later", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const source = Buffer.from([1, 2, 3]);
  const seen: unknown[] = [];
  const bytes = strategy<string, string>("bytes", (graph) => {
    const give = graph.node("give", () => ({ data: source as Uint8Array }));
    const take = graph.node("take", ({ data }: { readonly data: Uint8Array }) => {
      source[0] = 99;
      seen.push([...data]);
      return "done";
    });
    graph.edge(graph.start, give);
    graph.edge(give, take);
    graph.edge(take, graph.finish);
  });
  const agent = new AIAgent({ id: "b", promptExecutor: scriptedModel([]), llmModel: "none", strategy: bytes });
  await agent.install(Persistence, { storage }).run("go");
  expect(seen).toEqual([[1, 2, 3]]);
});

it("a call by code with an input other than the recorded input stops the run if its effect remains", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const world: string[] = [];
  let attempt = 0;
  const write = tool({
    name: "write",
    description: "writes a line",
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => void world.push(text),
  });
  const unstable = strategy<string, string>("unstable", (graph) => {
    const node = graph.node("node", async (text: string, context) => {
      await context.tools.call(write, { text: `${text} ${++attempt}` });
      if (attempt === 1) throw new Error("after the effect");
      return "done";
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const agent = new AIAgent({
    id: "c",
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: unstable,
    tools: [write],
  });
  agent.install(Persistence, { storage });
  await expect(agent.run("go")).rejects.toThrow("after the effect");
  await expect(agent.resume()).rejects.toMatchObject({ code: "replay_diverged", nodeId: "node" });
  expect(world).toEqual(["go 1"]);
});
