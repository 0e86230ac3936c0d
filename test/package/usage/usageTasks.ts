// Tasks and waiting for a person.
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  type PromptExecutor,
} from "agent-persistence";
import { TaskManager, TaskWorker } from "agent-persistence/task";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};
declare const promptExecutor: PromptExecutor;
const agent = new AIAgent({ promptExecutor, llmModel: "m" }).install(Persistence, {
  storage: new InMemoryPersistenceStorageProvider(),
});

// ---- 8 task worker
const tasks = new TaskManager({ storage: new InMemoryPersistenceStorageProvider() });
await tasks.create({
  taskName: "import",
  inputRequest: "people.csv",
  priority: 5,
  reserves: [{ path: "src/a.ts", operation: "write" }],
});
{
  await using worker = new TaskWorker({ tasks, agents: { import: agent }, concurrency: 2 });
  await worker.run();
}
for await (const task of tasks.list({ status: "waiting" }))
  if (task.status === "waiting")
    same<typeof task.data.waitingFor, "user_input" | "external_api" | "human_approval" | "timer" | "event">();

export const ask = strategy<string, string>("ask", (graph) => {
  const n = graph.node("n", async (text: string, context) => {
    const answer = await context.requestInput({ prompt: text, schema: z.object({ size: z.enum(["S", "M"]) }) });
    same<typeof answer, { size: "S" | "M" }>();
    return answer.size;
  });
  graph.edge(graph.start, n);
  graph.edge(n, graph.finish);
});

const waiting = await new AIAgent({ promptExecutor, llmModel: "m", strategy: ask })
  .install(Persistence)
  .run("size?", { agentId: "order-7" });
if (waiting.status === "waiting" && waiting.requests[0]?.kind === "input")
  await persistence(agent).agent("order-7").answer(waiting.requests[0].requestId, { size: "M" });
