import { type AgentContext, InMemoryPersistenceStorageProvider, persistence, strategy } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";

async function received(context: AgentContext): Promise<string> {
  const paid = await context.receive("paid", { schema: z.string(), timeoutMs: 0 });
  return paid ?? "nothing";
}

const runs = strategy<string, string>("runs", (g) => {
  const first = g.node("first", async (input: string) => input);
  const receive = g.node("receive", async (input: string, context: AgentContext) =>
    input === "skip" ? input : received(context),
  );
  g.edge(g.start, first);
  g.edge(first, receive);
  g.edge(receive, g.finish);
});

const branches = strategy<string, string>("branches", (g) => {
  const first = g.node("first", async (input: string) => input);
  const receive = g.node("receive", async (_input: string, context: AgentContext) => received(context));
  const other = g.node("other", async () => "");
  const both = g.parallel("both", { receive, other }, (results) => results.receive);
  const last = g.node("last", async (input: string) => input);
  g.edge(g.start, first);
  g.edge(first, both);
  g.edge(both, last);
  g.edge(last, g.finish);
});

async function pruned(graph: typeof runs, inputs: readonly string[]) {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = durableAgent(graph, storage);
  const durable = persistence(agent).agent("a");
  await durable.send("paid", "one");
  for (const input of inputs) await agent.run(input, { agentId: "a" });
  await persistence(agent).prune({ agentId: "a", policy: { maxCheckpoints: 2, completedDays: Infinity } });
  const [target, head] = (await durable.getCheckpoints()).map(({ checkpointId }) => checkpointId);
  const next = (input: string) => agent.run(input, { agentId: "a", unfinished: "abandon" });
  return { storage, durable, next, target: target ?? "", head: head ?? "" };
}

describe("after pruning, a rollback makes an event available again", () => {
  it.each([
    { name: "of an earlier run", graph: runs, inputs: ["skip", "receive", "skip"] },
    { name: "of a branch", graph: branches, inputs: ["receive"] },
  ])("$name", async ({ graph, inputs }) => {
    const { durable, next, target } = await pruned(graph, inputs);
    await durable.rollbackToCheckpoint(target);
    expect(await next("again")).toMatchObject({ output: "one" });
  });

  it("of a branch, and a redo takes it again", async () => {
    const { durable, next, target, head } = await pruned(branches, ["receive"]);
    await durable.rollbackToCheckpoint(target);
    await durable.rollbackToCheckpoint(head);
    expect(await next("again")).toMatchObject({ output: "nothing" });
  });

  it("without a copy of its payload", async () => {
    const { storage } = await pruned(branches, ["receive"]);
    const stored = (await recordsOf(storage)) as readonly unknown[] as readonly AgentRecord[];
    const restated = stored.flatMap((record) =>
      record.kind === "pruned" ? record.restated.flatMap(({ records }) => records) : [],
    );
    expect(restated).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ kind: "request", event: "paid", prompt: null, schema: null }),
        expect.objectContaining({ kind: "reply", answer: null }),
      ]),
    );
  });
});
