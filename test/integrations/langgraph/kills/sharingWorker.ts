import { once } from "node:events";
import { writeSync } from "node:fs";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PersistenceSaver } from "agent-persistence/langgraph";

/**
 * One of two processes that run one thread. It says what it does, a line at a time, and goes on in its second node, and again
 * at its end, when it is told to.
 */
const [directory = "", name = ""] = process.argv.slice(2);

const say = (line: string) => writeSync(1, `${line}\n`);
const told = () => once(process.stdin, "data");

const checkpointer = new PersistenceSaver({
  storage: new FilePersistenceStorageProvider({ directory, leaseMs: 3_600_000 }),
});
const State = Annotation.Root({ steps: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
const graph = new StateGraph(State)
  .addNode("first", () => ({ steps: [`first of ${name}`] }))
  .addNode("second", async () => {
    say("in second");
    await told();
    return { steps: [`second of ${name}`] };
  })
  .addEdge(START, "first")
  .addEdge("first", "second")
  .compile({ checkpointer });

const thread = { configurable: { thread_id: "shared" }, durability: "sync" as const };
try {
  const begun = await checkpointer.getTuple(thread);
  const { steps } = await graph.invoke(begun ? null : { steps: [] }, thread);
  say(steps.join());
} catch (error) {
  say((error as { readonly code?: string }).code ?? String(error));
}
await told();
await checkpointer[Symbol.asyncDispose]();
process.exit();
