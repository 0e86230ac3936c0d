import { writeSync } from "node:fs";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";

/** One process that runs agent "a", which receives two events, and prints each of them and its output. */
const { place } = JSON.parse(process.argv[2] ?? "") as { readonly place: StoragePlace };
const say = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

const receiving = strategy<string, string>("receiving", (graph) => {
  const receive = graph.node("receive", async (_input: string, context) => {
    const one = await context.receive("e", { schema: z.string() });
    say({ received: one });
    return `${one} ${await context.receive("e", { schema: z.string() })}`;
  });
  graph.edge(graph.start, receive);
  graph.edge(receive, graph.finish);
});

const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: receiving }).install(
  Persistence,
  { storage: await storageAt(place), sleepInProcessMs: 120_000 },
);
const result = await agent.run("go", { agentId: "a", runId: "r" });
say({ output: result.status === "completed" ? result.output : result.status });
process.exit(0);
