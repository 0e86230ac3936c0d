import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { destroyKey, encrypted } from "agent-persistence/encryption";
import { describe, expect, it } from "vitest";
import { collect } from "../storage/file/support/fixture.ts";
import { testKeys } from "./encryptedHarness.ts";
import { openBooks } from "./storedBytes.ts";

describe("an agent with an inbox whose key was destroyed", () => {
  it.each(["in memory", "in files", "in SQLite"])("can be deleted, and its id used again %s", async (name) => {
    const book = await openBooks[name]?.();
    if (!book) throw new Error(`there is no ${name}`);
    const storage = encrypted(book.storage, { keys: testKeys("first") });
    const echo = strategy<string, string>("echo", (graph) => {
      const node = graph.node("node", (input: string) => input);
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    });
    const promptExecutor = { execute: () => Promise.reject(new Error("no model is asked")) };
    const agent = new AIAgent({ promptExecutor, llmModel: "none", strategy: echo }).install(Persistence, { storage });
    const feature = persistence(agent);
    await agent.run("one", { agentId: "a" });
    await feature.agent("a").send("news", "first");
    await destroyKey(storage, "a");
    await feature.deleteAgent("a");
    expect(await collect(storage.log.list())).toEqual([]);
    await agent.run("two", { agentId: "a", runId: "next" });
    await feature.agent("a").send("news", "second");
    expect((await collect(storage.log.read("inbox:a"))).flatMap(({ records }) => records)).toContainEqual(
      expect.objectContaining({ kind: "event", name: "news" }),
    );
  });
});
