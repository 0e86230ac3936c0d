import {
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  persistence,
  RollbackToolRegistry,
  strategy,
} from "agent-persistence";
import { ExecutionMovedError, NotAnAncestorError, UnknownNodeError } from "agent-persistence/errors";
import { describe, expect, it } from "vitest";
import { gate } from "../../agent/gate.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** A chain of three nodes beside another branch of one. `act` gets the name of the node that runs. */
function moving(world: World, act: (node: string, context: AgentContext) => unknown) {
  const book = world.adder("book");
  const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
    world.remove(toolCallId, item),
  );
  const visit =
    (name: string) =>
    async (text: string, context: AgentContext): Promise<string> => {
      world.nodes.push(name);
      await context.tools.call(book, { item: name });
      // The result of a move is no output.
      return ((await act(name, context)) ?? `${text} ${name}`) as string;
    };
  const built = strategy<string, string>("moving", (graph) => {
    const first = graph.node("first", visit("first"));
    const chain = graph.subgraph<string, string>("chain", (inner) => {
      const one = inner.node("one", visit("one"));
      const two = inner.node("two", visit("two"));
      const three = inner.node("three", visit("three"));
      inner.edge(inner.start, one);
      inner.edge(one, two);
      inner.edge(two, three);
      inner.edge(three, inner.finish);
    });
    const beside = graph.node("beside", visit("beside"));
    const both = graph.parallel("both", { chain, beside }, async (results, context) => {
      await visit("merge")("", context);
      return `${results.chain} | ${results.beside}`;
    });
    const end = graph.node("end", visit("end"));
    graph.edge(graph.start, first);
    graph.edge(first, both);
    graph.edge(both, end);
    graph.edge(end, graph.finish);
  });
  return { built, options: { tools: [book], registry } };
}

const idAt = async (context: AgentContext, nodeId: string) => {
  const found = (await persistence(context).getCheckpoints()).findLast(
    (checkpoint) => checkpoint.nodeId.split("/").at(-1) === nodeId,
  );
  return found?.checkpointId ?? "none";
};

describe.each(logStorages)("$name: moves with branches", (storage) => {
  it("a branch rolls back to a checkpoint of the branch without disturbing the others", async () => {
    const world = new World();
    const [moved, besideRuns] = [gate<void>(), gate<void>()];
    let moves = 0;
    const { built, options } = moving(world, async (node, context) => {
      if (node === "beside") {
        besideRuns.open();
        await moved.opened;
      }
      if (node === "three" && moves++ === 0) {
        await besideRuns.opened;
        const report = await persistence(context).rollbackToCheckpoint(await idAt(context, "two"));
        expect(report.reverted.map(({ input }) => input)).toEqual([{ item: "three" }, { item: "two" }]);
        moved.open();
        return report;
      }
    });
    const opened = await storage.open();
    const result = await durableAgent(built, opened(), options).run("go");
    expect(result).toMatchObject({ output: "go first one two three | go first beside end" });
    expect(world.nodes.filter((node) => node === "beside" || node === "one")).toHaveLength(2);
    expect(world.items).toEqual(["beside", "end", "first", "merge", "one", "three", "two"]);
  });

  it("a branch rolls back to a checkpoint before the fork after all lines of the fork end, and their calls are reverted", async () => {
    const world = new World();
    const [besideRuns, closed] = [gate<void>(), gate<unknown>()];
    let moves = 0;
    const { built, options } = moving(world, async (node, context) => {
      if (node === "beside" && moves === 0) {
        besideRuns.open();
        await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
        try {
          context.llm.append({ role: "user", content: "too late" });
        } catch (error) {
          closed.open(error);
        }
      }
      if (node === "two" && moves++ === 0) {
        await besideRuns.opened;
        return persistence(context).rollbackToCheckpoint(await idAt(context, "first"));
      }
    });
    const opened = await storage.open();
    const result = await durableAgent(built, opened(), options).run("go");
    expect(await closed.opened).toBeInstanceOf(ExecutionMovedError);
    expect(result).toMatchObject({ output: "go first one two three | go first beside end" });
    expect(world.items).toEqual(["beside", "end", "first", "merge", "one", "three", "two"]);
    expect(world.undone).toHaveLength(4);
  });

  it("a merge can roll back to the fork, and a node after the join can roll back to the merge", async () => {
    for (const [from, to, undone] of [
      ["merge", "both", ["merge", "chain", "beside"]],
      ["end", "both", ["end", "merge"]],
    ] as const) {
      const world = new World();
      let moves = 0;
      const { built, options } = moving(world, async (node, context) => {
        if (node === from && moves++ === 0) {
          const joined = (await persistence(context).getCheckpoints()).filter(({ nodeId }) => nodeId === to);
          const target = from === "merge" ? joined[0] : joined.at(-1);
          return persistence(context).rollbackToCheckpoint(target?.checkpointId ?? "none");
        }
      });
      const opened = await storage.open();
      const result = await durableAgent(built, opened(), options).run("go");
      expect(result).toMatchObject({ output: "go first one two three | go first beside end" });
      expect(world.items).toEqual(["beside", "end", "first", "merge", "one", "three", "two"]);
      expect(world.undone.length).toBe(undone.length + (from === "merge" ? 2 : 0));
    }
  });

  it("a branch cannot roll back to another branch's checkpoint, nor the run to a joined branch's", async () => {
    const world = new World();
    const besideBegun = gate<void>();
    const refused: unknown[] = [];
    const { built, options } = moving(world, async (node, context) => {
      if (node === "beside") besideBegun.open();
      if (node === "three" || node === "merge" || node === "end") {
        await besideBegun.opened;
        const id = await idAt(context, node === "three" ? "beside" : "two");
        refused.push(
          await persistence(context)
            .rollbackToCheckpoint(id)
            .catch((error: unknown) => error),
        );
      }
    });
    const opened = await storage.open();
    await durableAgent(built, opened(), options).run("go");
    expect(refused).toHaveLength(3);
    for (const error of refused) expect(error).toBeInstanceOf(NotAnAncestorError);
    const joined = expect.stringContaining('belongs to branch "both#chain", which is already joined.') as string;
    expect(refused.map((error) => (error as Error).message)).toEqual([
      expect.not.stringContaining("joined"),
      joined,
      joined,
    ]);
    expect(world.undone).toEqual([]);
  });

  it("setExecutionPoint in a branch accepts only nodes of the branch", async () => {
    const world = new World();
    const refused: unknown[] = [];
    let moves = 0;
    const { built, options } = moving(world, async (node, context) => {
      if (node !== "two" || moves++ > 0) return undefined;
      for (const nodeId of ["first", "end", "beside", "both"])
        refused.push(
          await persistence(context)
            .setExecutionPoint({ nodeId, input: "x" })
            .catch((error: unknown) => error),
        );
      return persistence(context).setExecutionPoint({ nodeId: "three", input: "jumped" });
    });
    const opened = await storage.open();
    const result = await durableAgent(built, opened(), options).run("go");
    for (const error of refused) expect(error).toBeInstanceOf(UnknownNodeError);
    expect(result).toMatchObject({ output: "jumped three | go first beside end" });
  });

  it("a branch rolls back while another branch is rolling back", async () => {
    const world = new World();
    const [undoing, asked, besideRuns] = [gate(), gate(), gate()];
    const remove = world.remove.bind(world);
    const removeSlowly = async (toolCallId: string, item: string) => {
      remove(toolCallId, item);
      if (item !== "three") return;
      undoing.open();
      await asked.opened;
    };
    Object.assign(world, { remove: removeSlowly });
    const moved = new Set<string>();
    const { built, options } = moving(world, async (node, context) => {
      if (node === "beside") besideRuns.open();
      if ((node !== "three" && node !== "beside") || moved.has(node)) return undefined;
      moved.add(node);
      await (node === "three" ? besideRuns : undoing).opened;
      const target = await idAt(context, node === "three" ? "two" : "beside");
      const going = persistence(context).rollbackToCheckpoint(target);
      if (node === "beside") await persistence(context).getCheckpoints();
      if (node === "beside") asked.open();
      return going;
    });
    const opened = await storage.open();
    const result = await durableAgent(built, opened(), options).run("go");
    expect(result).toMatchObject({ output: "go first one two three | go first beside end" });
    expect(world.items).toEqual(["beside", "end", "first", "merge", "one", "three", "two"]);
    expect(world.undone).toHaveLength(3);
  });
});

it("setExecutionPoint from outside to a node of a closed branch is refused with advice", async () => {
  const fault = new Fault();
  const { built, options } = moving(new World(), (node) => void (node === "end" && fault.strike()));
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = () => durableAgent(built, storage, options);
  await fault.stops(agent().run("go"));
  const move = (nodeId: string) => persistence(agent()).agent("a").setExecutionPoint({ nodeId, input: "x" });
  for (const node of ["beside", "chain/one"])
    await expect(move(node)).rejects.toMatchObject({
      code: "unknown_node",
      message: `Node "${node}" belongs to a branch of "both", but that branch is not running. Move to "both" instead.`,
    });
  await move("both");
  expect(await agent().resume()).toMatchObject({ output: "x one two three | x beside end" });
});

it("a rollback from outside goes to a checkpoint of a branch", async () => {
  const world = new World();
  const fault = new Fault();
  const { built, options } = moving(world, (node) => void (node === "three" && fault.strike()));
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = () => durableAgent(built, storage, options);
  await fault.stops(agent().run("go"));
  const checkpoints = await persistence(agent()).agent("a").getCheckpoints();
  const one = checkpoints.find(({ nodeId }) => nodeId === "chain/two")?.checkpointId ?? "none";
  const report = await persistence(agent()).agent("a").rollbackToCheckpoint(one);
  expect(report.reverted.map(({ input }) => input)).toEqual([{ item: "three" }, { item: "two" }]);
  expect(await agent().resume()).toMatchObject({ output: "go first one two three | go first beside end" });
  expect(world.nodes.filter((node) => node === "beside" || node === "one")).toHaveLength(2);
});
