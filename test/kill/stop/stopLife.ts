import { existsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy, type AgentContext } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import type { StoragePlace } from "../../storage/engines/storageAt.ts";
import { countedStorageAt } from "../everyCall/countedStorageAt.ts";

/**
 * Stops a run between two steps that are saved, and then continues it. Each start continues where the last one ended, and
 * prints the output at the end.
 */
const [directory = "", place = ""] = process.argv.slice(2);
const stopped = join(directory, "stopped");
let tellRunning = (): void => {};
const isRunning = new Promise<void>((resolve) => (tellRunning = resolve));

const stoppable = strategy<string, string>("stoppable", (graph) => {
  const first = graph.node("first", (input: string) => `${input} first`);
  const second = graph.node("second", async (input: string, context: AgentContext) => {
    if (existsSync(stopped)) return `${input} second`;
    tellRunning();
    return new Promise<string>((_resolve, reject) =>
      context.signal.addEventListener("abort", () => reject(context.signal.reason)),
    );
  });
  graph.edge(graph.start, first);
  graph.edge(first, second);
  graph.edge(second, graph.finish);
});

const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel([]), strategy: stoppable }).install(
  Persistence,
  { storage: await countedStorageAt(JSON.parse(place) as StoragePlace) },
);
const durable = persistence(agent).agent();
if (!existsSync(stopped)) {
  const running = agent.run("in", { runId: "r" }).catch(({ code }: { readonly code?: string }) => code);
  await isRunning;
  const { status } = await durable.stop({ reason: "button" });
  const code = await running;
  if (status !== "paused" || code !== "stop_requested")
    throw new Error(`The stop led to ${status}, and the run to ${JSON.stringify(code)}.`);
  writeFileSync(stopped, "");
}
const last = await agent.run("in", { runId: "r" });
writeSync(1, JSON.stringify(last.status === "completed" ? last.output : last.status));
process.exit(0);
