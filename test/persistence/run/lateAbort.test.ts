import { AIAgent, InMemoryPersistenceStorageProvider, persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { durableAgent } from "../support/durableAgent.ts";
import { World } from "../support/World.ts";

const reason = new RangeError("enough");

/** One node that books a room, during which its caller aborts the run. */
function abortedInLastNode() {
  const world = new World();
  const controller = new AbortController();
  const book = world.adder("book");
  const graph = strategy<string, string>("s", (g) => {
    const only = g.node("only", async (input: string, context) => {
      await context.tools.call(book, { item: "room" });
      controller.abort(reason);
      return input;
    });
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  return { world, graph, book, signal: controller.signal };
}

it("a run that is aborted in its last node rejects, and a resume completes it without repeating a call", async () => {
  const { world, graph, book, signal } = abortedInLastNode();
  const build = (storage: InMemoryPersistenceStorageProvider) => durableAgent(graph, storage, { tools: [book] });
  const storage = new InMemoryPersistenceStorageProvider();
  await expect(build(storage).run("in", { signal })).rejects.toBe(reason);
  for await (const run of persistence(build(storage)).unfinished())
    expect(run).toMatchObject({ status: "interrupted" });
  expect(await build(storage).resume()).toMatchObject({ status: "completed", output: "in" });
  expect(world.done).toEqual(["book room"]);
});

it("a run without Persistence that is aborted in its last node rejects", async () => {
  const { graph, book, signal } = abortedInLastNode();
  const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: graph, tools: [book] });
  await expect(agent.run("in", { signal })).rejects.toBe(reason);
});
