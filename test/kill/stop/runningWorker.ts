import { writeSync } from "node:fs";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";

/** One process that runs agent "a" until it is stopped, and prints the error that ends the run. */
const { place, leaseMs } = JSON.parse(process.argv[2] ?? "") as {
  readonly place: StoragePlace;
  readonly leaseMs: number;
};

const endless = strategy<string, string>("endless", (graph) => {
  const run = graph.node("run", (_input: string, context) => {
    writeSync(1, '{"said":"running"}\n');
    return new Promise<string>((_resolve, reject) =>
      context.signal.addEventListener("abort", () => reject(context.signal.reason)),
    );
  });
  graph.edge(graph.start, run);
  graph.edge(run, graph.finish);
});

const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: endless }).install(
  Persistence,
  { storage: await storageAt(place, { leaseMs }) },
);

// The timers of a lease do not keep a process alive.
setInterval(() => undefined, 60_000);
const ended = await agent.run("go", { agentId: "a" }).catch((error: unknown) => error);
const { code, reason } = ended as { readonly code?: string; readonly reason?: string };
writeSync(1, `${JSON.stringify({ said: "ended", code, reason })}\n`);
process.exit(0);
