import { InMemoryPersistenceStorageProvider, persistence, strategy, type AgentContext } from "agent-persistence";
import { type BlobStore, LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { durableAgent } from "../persistence/support/durableAgent.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";

/** A storage, and how many of its blobs were under way at once, for each method. */
function counting() {
  const { log } = new InMemoryPersistenceStorageProvider();
  const most: Record<string, number> = {};
  const counted = <Args extends unknown[], Result>(name: string, act: (...args: Args) => Promise<Result>) => {
    let now = 0;
    return async (...args: Args): Promise<Result> => {
      most[name] = Math.max(most[name] ?? 0, ++now);
      // A store beyond this process answers later.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      return act(...args).finally(() => now--);
    };
  };
  const blobs: BlobStore = {
    put: counted("put", log.blobs.put.bind(log.blobs)),
    get: counted("get", log.blobs.get.bind(log.blobs)),
    delete: counted("delete", log.blobs.delete.bind(log.blobs)),
  };
  return { most, open: () => new LogPersistenceStorageProvider(delegatingLog(log, { blobs })) };
}

const reading = strategy<string, string>("reading", (graph) => {
  const read = graph.node("read", (text: string, { llm }: AgentContext) => {
    for (let at = 0; at < 20; at++) llm.append({ role: "user", content: `${text} ${at} ${"x".repeat(20_000)}` });
    return text;
  });
  graph.edge(graph.start, read);
  graph.edge(read, graph.finish);
});

it("blob puts, reads and deletes run up to eight at a time", async () => {
  const { most, open } = counting();
  const [agent, durable] = [durableAgent(reading, open()), persistence(durableAgent(reading, open())).agent("a")];
  await agent.run("go");
  expect(most).toEqual({ put: 8 });
  expect(await durable.getMessages()).toHaveLength(20);
  expect(most).toEqual({ put: 8, get: 8 });
  for (const text of ["once", "twice", "again"]) await agent.run(text, { history: "fresh" });
  await persistence(agent).prune({ agentId: "a", policy: { maxCheckpoints: 2 } });
  expect(most).toEqual({ put: 8, get: 8, delete: 8 });
});
