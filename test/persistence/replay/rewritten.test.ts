import { InMemoryPersistenceStorageProvider, strategy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { gate } from "../../agent/gate.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const user = (content: string) => ({ role: "user", content }) as const;

/** A branch whose second node summarizes, asks and acts, while another branch adds to its own history and ends. */
function summarizing(world: World, fault: Fault) {
  const book = world.adder("book");
  const [summarizes, added] = [gate(), gate()];
  const graph = strategy<string, string>("summarizing", (g) => {
    const chain = g.subgraph<string, string>("chain", (inner) => {
      const first = inner.node("first", async (input: string, { llm }) => {
        llm.append(user("first"));
        return input;
      });
      const second = inner.node("second", async (input: string, { llm, tools }) => {
        summarizes.open();
        await added.opened;
        llm.rewrite((messages) => [user("summary"), ...messages]);
        llm.append(await llm.request());
        await tools.call(book, { item: input });
        fault.strike();
        return input;
      });
      inner.edge(inner.start, first);
      inner.edge(first, second);
      inner.edge(second, inner.finish);
    });
    const beside = g.node("beside", async (input: string, { llm }) => {
      await summarizes.opened;
      llm.append(user("beside"));
      added.open();
      return input;
    });
    const both = g.parallel("both", { chain, beside }, () => "joined");
    g.edge(g.start, both);
    g.edge(both, g.finish);
  });
  return { graph, options: { tools: [book], turns: ["asked once"] } };
}

/** A copy of a log, with the digests of model requests that an earlier version recorded. */
async function withDigest({ log }: LogPersistenceStorageProvider, asked: string) {
  const copy = new InMemoryPersistenceStorageProvider();
  const owned = await copy.log.open("a", { host: "test", processId: 1, nonce: "copy" });
  for await (const { records } of log.read("a")) {
    const written = records.map((record) => (record.kind === "answer" ? { ...record, asked } : record));
    await owned.append({ id: `${owned.generation}-${owned.position + 1}`, records: written }, owned.position);
  }
  await owned.release();
  return copy;
}

describe.each(logStorages)("$name: a node that rewrites messages without a checkpoint", (storage) => {
  it("makes the same request when it runs again, even if another line reused the message numbers", async () => {
    const world = new World();
    const fault = new Fault();
    const { graph, options } = summarizing(world, fault);
    const opened = await storage.open();
    const agent = () => durableAgent(graph, opened(), { ...options, automatic: false });
    await fault.stops(agent().run("go"));
    expect(await agent().resume()).toMatchObject({ output: "joined" });
    expect(world.done).toEqual(["book go"]);
  });
});

it("a node that rewrote its history before an earlier version recorded its request gets the recorded response", async () => {
  const world = new World();
  const fault = new Fault();
  const { graph, options } = summarizing(world, fault);
  const first = new InMemoryPersistenceStorageProvider();
  await fault.stops(durableAgent(graph, first, options).run("go"));
  const copy = await withDigest(first, "MKXp5uh_Ubv");
  expect(await durableAgent(graph, copy, options).resume()).toMatchObject({ output: "joined" });
  expect(world.done).toEqual(["book go"]);
});
