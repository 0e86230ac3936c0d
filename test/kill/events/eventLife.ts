import { existsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy, type AgentContext } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import type { StoragePlace } from "../../storage/engines/storageAt.ts";
import { countedStorageAt } from "../everyCall/countedStorageAt.ts";

/**
 * Sends three events, receives them, rolls back over two receipts, and receives these again. Each start continues where
 * the last one ended, and prints what was received at the end. Uses files, or the storage at a place.
 */
const [directory = "", place] = process.argv.slice(2);
const rolledBack = join(directory, "rolled-back");
const schema = z.string();

const receiving = strategy<string, string>("receiving", (graph) => {
  const first = graph.node("first", async (_input: string, context: AgentContext) => context.receive("e", { schema }));
  const others = graph.node("others", async (before: string, context: AgentContext) => {
    const two = await context.receive("e", { schema });
    const three = await context.receive("e", { schema });
    const four = await context.receive("e", { schema, timeoutMs: 0 });
    return [before, two, three, four ?? "none"].map((text) => text.slice(0, 5)).join(" ");
  });
  graph.edge(graph.start, first);
  graph.edge(first, others);
  graph.edge(others, graph.finish);
});

const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel([]), strategy: receiving }).install(
  Persistence,
  {
    storage:
      place === undefined
        ? new FilePersistenceStorageProvider({ directory: join(directory, "store") })
        : await countedStorageAt(JSON.parse(place) as StoragePlace),
    sleepInProcessMs: 0,
  },
);
const durable = persistence(agent).agent();
// The last one is large enough for a blob.
for (const [key, payload] of ["one", "two", "three".repeat(4_000)].entries())
  await durable.send("e", payload, { key: String(key) });
await agent.run("in", { runId: "r" });
if (!existsSync(rolledBack)) {
  const [, second] = await durable.getCheckpoints();
  if (second) await durable.rollbackToCheckpoint(second.checkpointId);
  await agent.run("in", { runId: "r" });
  writeFileSync(rolledBack, "");
}
const last = await agent.run("in", { runId: "r" });
writeSync(1, JSON.stringify(last.status === "completed" ? last.output : last.status));
process.exit(0);
