import { writeSync } from "node:fs";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";

/** One process that runs agent "a" at a given time until it waits or ends. Prints the end, and is killed right after. */
const { place, at } = JSON.parse(process.argv[2] ?? "") as { readonly place: StoragePlace; readonly at: number };

const sleeping = strategy<string, string>("sleeping", (graph) => {
  const sleep = graph.node("sleep", async (input: string, context) => {
    await context.sleep(3_600_000);
    return `${input} rested`;
  });
  graph.edge(graph.start, sleep);
  graph.edge(sleep, graph.finish);
});

const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: sleeping }).install(
  Persistence,
  { storage: await storageAt(place, { leaseMs: 900 }), clock: new SimulatedClock(at) },
);
const said = await agent.run("go", { agentId: "a", runId: "r" }).then(
  (result) => (result.status === "completed" ? result.output : result.status),
  (error: { readonly code?: string }) => error.code,
);
writeSync(1, JSON.stringify({ said }));
process.kill(process.pid, "SIGKILL");
