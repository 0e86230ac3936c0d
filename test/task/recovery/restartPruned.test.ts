import { persistence, RollbackToolRegistry, storageKey, strategy, type AgentContext } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { World } from "../../persistence/support/World.ts";

const round = storageKey("round", z.number());

/** Thirty rounds that book, after which it can be made to fail. */
function rounds(world: World, fault: Fault) {
  const book = world.adder("book");
  const registry = new RollbackToolRegistry().registerRollback(book, (_input, { toolCallId, output }) =>
    world.remove(toolCallId, output.made),
  );
  const graph = strategy<string, string>("rounds", (g) => {
    const turn = g.node("turn", async (input: string, context: AgentContext) => {
      const at = (context.storage.get(round) ?? 0) + 1;
      if (at > 30) fault.strike();
      context.storage.set(round, at);
      await context.tools.call(book, { item: `${input} ${at}` });
      return at > 30 ? "done" : input;
    });
    g.edge(g.start, turn);
    g.edge(turn, turn, { when: (output) => output !== "done" });
    g.edge(turn, g.finish, { when: (output) => output === "done" });
  });
  return { graph, options: { tools: [book], registry, maxIterations: 1_000 } };
}

describe.each(logStorages)("$name: a task with a failed and pruned later run", (storage) => {
  it("restarts at the first checkpoint of that run and reverts the whole run", async () => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    const { graph, options } = rounds(world, fault);
    const build = () => durableAgent(graph, opened(), options);
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "a", taskName: "book", inputRequest: "one" });
    fault.repair();
    await build().resume();
    const before = world.items;
    fault.return();
    await expect(build().run("two")).rejects.toBeInstanceOf(Stopped);
    const saved = persistence(build()).agent();
    const inputs = async () => (await saved.getCheckpoints()).map(({ runInput }) => runInput);

    const { pruned } = await persistence(build()).prune();
    expect(pruned[0]?.checkpointIds.length).toBeGreaterThan(20);
    expect(await inputs()).toContain("two");
    expect(await saved.restart()).toMatchObject({ failed: [], skipped: [] });
    expect(world.items).toEqual(before);
    expect(await saved.getLatestCheckpoint()).toMatchObject({ nodeId: "turn", lastInput: "two", iteration: 0 });
    fault.repair();
    await expect(build().resume()).resolves.toMatchObject({ status: "completed", output: "done" });
  });
});
