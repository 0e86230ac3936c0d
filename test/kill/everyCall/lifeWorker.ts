import { appendFileSync, existsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

/**
 * The life of an agent: a run with tool calls of a model and of code, a rollback to its first checkpoint, the run again, and
 * a pruning. Each start goes on where the last one ended, and prints what there is at the end.
 */
const [directory = ""] = process.argv.slice(2);
const rolledBack = join(directory, "rolled-back");
const ledger = (line: string) => appendFileSync(join(directory, "ledger"), `${line}\n`);

const book = tool({
  name: "book",
  description: "books a room",
  inputSchema: z.object({ room: z.string() }),
  effect: "idempotent",
  execute: ({ room }, { toolCallId }) => {
    ledger(`book ${room} ${toolCallId}`);
    // Large enough for a blob.
    return { room, plan: room.repeat(6_000) };
  },
});
const registry = new RollbackToolRegistry().registerRollback(
  book,
  ({ room }, { toolCallId }) => ledger(`undo ${room} ${toolCallId}`),
  { effect: "idempotent" },
);

const booking = strategy<string, string>("booking", (graph) => {
  const asked = graph.node("asked", async (input: string, context) => {
    context.llm.append({ role: "user", content: input });
    const answer = await context.llm.request();
    context.llm.append(answer);
    context.llm.append(await context.tools.execute(answer));
    return input;
  });
  const coded = graph.node("coded", async (input: string, context) => {
    await context.tools.call(book, { room: "c" });
    return input;
  });
  const thanks = graph.node("thanks", async (_input: string, context) => {
    const { content } = await context.llm.request();
    return JSON.stringify(content);
  });
  graph.edge(graph.start, asked);
  graph.edge(asked, coded);
  graph.edge(coded, thanks);
  graph.edge(thanks, graph.finish);
});

const model = scriptedModel([{ toolCalls: [{ toolName: "book", input: { room: "a" } }] }, "Booked."]);
const agent = new AIAgent({ id: "a", llmModel: "scripted", promptExecutor: model, strategy: booking, tools: [book] });
const durable = agent.install(Persistence, {
  storage: new FilePersistenceStorageProvider({ directory: join(directory, "store") }),
  rollbackToolRegistry: registry,
});

const run = () => durable.run("in", { runId: "r" });
await run();
const own = persistence(durable).agent();
const before = await own.getCheckpoints();
const [first] = before;
if (!existsSync(rolledBack)) {
  const isRolledBack = before.some(({ revertedToolCallIds = [] }) => revertedToolCallIds.length > 0);
  if (first && !isRolledBack) await own.rollbackToCheckpoint(first.checkpointId);
  await run();
  writeFileSync(rolledBack, "");
}
const last = await run();
if (last.status !== "completed") throw new Error(`The run is ${last.status}.`);
const { output } = last;
await persistence(durable).prune({ agentId: "a", policy: { maxCheckpoints: 2 } });
const { integrity } = await own.validateCheckpoint();
const kept = (await own.getCheckpoints()).map(({ nodeId, status }) => [nodeId, status]);
writeSync(1, JSON.stringify({ output, history: await own.getMessages(), kept, integrity }));
