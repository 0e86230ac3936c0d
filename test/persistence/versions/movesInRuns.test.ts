import {
  type AgentContext,
  type Migration,
  persistence,
  RollbackToolRegistry,
  type RunMoved,
  strategy,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** The code of an agent. After a rename of the first node, a subgraph still contains a node with the old name. */
interface Code {
  readonly first: string;
  readonly version: number;
  readonly migrations?: readonly Migration[];
  readonly last: (input: string, context: AgentContext) => Promise<string | RunMoved>;
}

const stops = async (): Promise<string> => {
  throw new Stopped("stopped");
};

function agentOf(storage: LogPersistenceStorageProvider, world: World, { first, version, migrations, last }: Code) {
  const book = world.adder("book");
  const graph = strategy<string, string>("s", { version } as object, (g) => {
    const begin = g.node(first, async (input: string, { tools }) => {
      world.nodes.push(first);
      await tools.call(book, { item: "room" });
      return input;
    });
    const other = g.subgraph<string, string>("other", (inner) => {
      const draft = inner.node("draft", (input: string) => `${input} by the wrong node`);
      inner.edge(inner.start, draft);
      inner.edge(draft, inner.finish);
    });
    const end = g.node("end", last);
    g.edge(g.start, begin);
    g.edge(begin, end, { when: (output) => output !== "other" });
    g.edge(begin, other);
    g.edge(other, end);
    g.edge(end, g.finish);
  });
  const undo = ({ item }: { readonly item: string }, { toolCallId }: { readonly toolCallId: string }) =>
    world.remove(toolCallId, item);
  const registry = new RollbackToolRegistry().registerRollback(book, undo);
  return durableAgent(graph, storage, { tools: [book], registry, ...(migrations && { migrations }) });
}

/** Rolls the run back to its first checkpoint once. */
function goingBack(world: World) {
  return async (input: string, context: AgentContext): Promise<string | RunMoved> => {
    if (world.undone.length > 0) return `${input}!`;
    const [start] = await persistence(context).getCheckpoints();
    return persistence(context).rollbackToCheckpoint(start?.checkpointId ?? "");
  };
}

describe.each(logStorages)("$name: new code of a run whose first node was renamed", (storage) => {
  async function stopped() {
    const opened = await storage.open();
    const world = new World();
    const before = agentOf(opened(), world, { first: "draft", version: 0, last: stops });
    await expect(before.run("in")).rejects.toThrow("stopped");
    return { opened, world };
  }

  it("migrates again when the run rolls back to a checkpoint from before the migration", async () => {
    const { opened, world } = await stopped();
    const seen: string[] = [];
    const migrate: Migration["migrate"] = (line) => (seen.push(line.nodeId), line);
    const migrations = [{ from: 0, to: 1, nodes: { draft: "write" }, migrate }];
    const code = { first: "write", version: 1, migrations, last: goingBack(world) };
    expect(await agentOf(opened(), world, code).resume({ agentId: "a" })).toMatchObject({ output: "in!" });
    expect(seen).toEqual(["end", "write"]);
    expect([world.nodes, world.items]).toEqual([["draft", "write"], ["room"]]);
    await expect(agentOf(opened(), world, { ...code, migrations: [] }).resume({ agentId: "a" })).resolves.toMatchObject(
      {
        output: "in!",
      },
    );
  });

  it("refuses a rollback of the run to a node that it lacks, and reverts no call", async () => {
    const { opened, world } = await stopped();
    let error: unknown;
    const last = (input: string, context: AgentContext) =>
      goingBack(world)(input, context).catch((reason: unknown) => {
        error = reason;
        throw reason;
      });
    const resumed = agentOf(opened(), world, { first: "write", version: 0, last }).resume({ agentId: "a" });
    await expect(resumed).rejects.toMatchObject({ code: "unknown_node", nodeId: "draft" });
    expect(error).toMatchObject({ code: "unknown_node" });
    expect([world.undone, world.items]).toEqual([[], ["room"]]);
  });

  it("refuses an edit of a checkpoint whose node it lacks, and changes nothing", async () => {
    const { opened, world } = await stopped();
    const outside = persistence(agentOf(opened(), world, { first: "write", version: 0, last: stops })).agent("a");
    const [start] = await outside.getCheckpoints();
    const before = await recordsOf(opened(), "a");
    const id = start?.checkpointId ?? "";
    for (const change of [{}, { lastInput: "x" }])
      await expect(outside.editCheckpoint(id, { by: "p", reason: "r", ...change })).rejects.toMatchObject({
        code: "unknown_node",
      });
    expect(await recordsOf(opened(), "a")).toEqual(before);
  });
});

describe.each(logStorages)("$name: a parallel node that was migrated while its branches ran", (storage) => {
  async function migrated() {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book");
    const fault = new Fault();
    const agentAt = (version: number) => {
      const graph = strategy<string, string>("s", { version } as object, (g) => {
        const left = g.node(`left${version}`, async (_: string, { tools }: AgentContext) => {
          await tools.call(book, { item: "room" });
          fault.strike();
          return "left";
        });
        const both = g.parallel("both", { left }, ({ left: done }) => done);
        g.edge(g.start, both);
        g.edge(both, g.finish);
      });
      const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
        world.remove(toolCallId, item),
      );
      const migrations = version === 0 ? [] : [{ from: 0, to: 1, nodes: { left0: "left1" } }];
      return durableAgent(graph, opened(), { tools: [book], registry, migrations });
    };
    await fault.stops(agentAt(0).run("in"));
    fault.return();
    await fault.stops(agentAt(1).resume({ agentId: "a" }));
    const outside = persistence(agentAt(1)).agent("a");
    const checkpoints = await outside.getCheckpoints();
    const { checkpointId = "" } =
      checkpoints.find(({ move, nodeId }) => move === "migration" && nodeId === "both") ?? {};
    return { world, agent: () => agentAt(1), outside, checkpointId };
  }

  it("starts its branches again after a rollback to the migration, which reverts all of their calls", async () => {
    const { world, agent, outside, checkpointId } = await migrated();
    const { reverted } = await outside.rollbackToCheckpoint(checkpointId);
    expect([reverted.map(({ toolName }) => toolName), world.items]).toEqual([["book"], []]);
    expect(await agent().resume({ agentId: "a" })).toMatchObject({ output: "left" });
    expect(world.items).toEqual(["room"]);
  });

  it("continues its branches after a resume from the migration, which reports no remaining effects", async () => {
    const { world, agent, checkpointId } = await migrated();
    const result = await agent().resume({ agentId: "a", checkpointId });
    expect(result).toMatchObject({ output: "left" });
    expect(result).not.toHaveProperty("effects");
    expect(world.items).toEqual(["room"]);
  });
});
