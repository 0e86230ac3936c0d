import { appendFileSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, type AgentContext, Persistence, persistence, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";

/**
 * Books, sleeps for an hour, is stopped, and books again. Each start continues where the last one ended. Prints the
 * output, the number of timers and the bookings.
 */
const [directory = ""] = process.argv.slice(2);
const hour = 3_600_000;
const ledger = join(directory, "ledger");
const clock = new SimulatedClock();

const book = tool({
  name: "book",
  description: "",
  inputSchema: z.object({ item: z.string() }),
  effect: "idempotent",
  execute: ({ item }, { toolCallId }) => appendFileSync(ledger, `${item} ${toolCallId}\n`),
});

let stop: (() => Promise<unknown>) | undefined;
const sleeping = strategy<string, string>("sleeping", (graph) => {
  const sleep = graph.node("sleep", async (input: string, context: AgentContext) => {
    await context.tools.call(book, { item: "hotel" });
    await context.sleep(hour);
    return input;
  });
  const work = graph.node("work", async (input: string, context: AgentContext) => {
    await context.tools.call(book, { item: "taxi" });
    if (!stop) return `${input} done`;
    void stop();
    return new Promise<string>((_resolve, reject) =>
      context.signal.addEventListener("abort", () => reject(context.signal.reason)),
    );
  });
  graph.edge(graph.start, sleep);
  graph.edge(sleep, work);
  graph.edge(work, graph.finish);
});

const storage = new FilePersistenceStorageProvider({ directory: join(directory, "store") });
const agent = new AIAgent({
  id: "a",
  llmModel: "m",
  promptExecutor: scriptedModel([]),
  strategy: sleeping,
  tools: [book],
}).install(Persistence, { storage, clock });
const durable = persistence(agent).agent();
const run = () => agent.run("in", { runId: "r" });

stop = () => durable.stop({ reason: "enough" });
await run().catch(() => undefined);
// A resume a day too late ends the sleep once.
clock.jump(24 * hour);
await run().catch(() => undefined);
stop = undefined;
const last = await run();
let timers = 0;
for await (const { records } of storage.log.read("a"))
  timers += records.filter((record) => record.kind === "request").length;
const booked = [...new Set(readFileSync(ledger, "utf8").trim().split("\n"))].map((line) => line.split(" ")[0]);
writeSync(1, JSON.stringify({ output: last.status === "completed" ? last.output : last.status, timers, booked }));
process.exit(0);
