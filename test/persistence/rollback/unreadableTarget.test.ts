import { persistence, RollbackToolRegistry, storageKey, strategy, type AgentContext } from "agent-persistence";
import { expect, it } from "vitest";
import { z } from "zod";
import { World } from "../support/World.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { memory } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";

const paper = storageKey("paper", z.string());

it("a rollback from outside a run reports its reverted calls, although a value at the checkpoint is unreadable", async () => {
  const opened = await memory.open();
  const world = new World();
  const book = world.adder("book", "idempotent");
  const undone: string[] = [];
  const registry = new RollbackToolRegistry().registerRollback(book, ({ item }) => void undone.push(item));
  const graph = strategy<string, string>("s", (g) => {
    const write = g.node("write", (input: string, context: AgentContext) => {
      context.storage.set(paper, input.repeat(20_000));
      return input;
    });
    const call = g.node("call", async (input: string, context: AgentContext) => {
      await context.tools.call(book, { item: input });
      return input;
    });
    g.edge(g.start, write);
    g.edge(write, call);
    g.edge(call, g.finish);
  });
  const agent = durableAgent(graph, opened(), { tools: [book], registry });
  await agent.run("a");
  const storage = opened();
  const stored = (await recordsOf(storage)).find(({ kind }) => kind === "storage") as unknown as {
    readonly value: { readonly $blob: readonly [string] };
  };
  const outside = persistence(durableAgent(graph, storage, { tools: [book], registry })).agent();
  const target = (await outside.getCheckpoints()).find(({ nodeId }) => nodeId === "call");
  await storage.log.blobs.delete("a", stored.value.$blob[0]);
  const report = await outside.rollbackToCheckpoint(target?.checkpointId ?? "");
  expect(report.reverted).toMatchObject([{ input: { item: "a" } }]);
  expect(undone).toEqual(["a"]);
});
