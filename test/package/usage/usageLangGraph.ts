// A graph of LangGraph, made durable: one line is changed, and tools are wrapped.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { Command, END, MemorySaver, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import { metrics, trace } from "@opentelemetry/api";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { openTelemetry } from "agent-persistence/otel";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

const storage = new FilePersistenceStorageProvider({ directory: ".agents" });
const telemetry = openTelemetry({ tracer: trace.getTracer("desk"), meter: metrics.getMeter("desk") });

await using checkpointer = new PersistenceSaver({ storage, telemetry });
const charge = langchainTool(async ({ cents }: { cents: number }) => `charged ${cents}`, {
  name: "charge",
  description: "Charges a card.",
  schema: z.object({ cents: z.int() }),
});
const [durableCharge] = durableTools(checkpointer, [charge], { charge: { effect: "idempotent" } });
same<typeof durableCharge, typeof charge>();
const graph = new StateGraph(MessagesAnnotation)
  .addNode("ask", async () => ({ messages: [new AIMessage(interrupt<string, string>("Charge 900?"))] }))
  .addNode("charge", async () => ({ messages: [new AIMessage(String(await durableCharge.invoke({ cents: 900 })))] }))
  .addEdge(START, "ask")
  .addEdge("ask", "charge")
  .addEdge("charge", END)
  .compile({ checkpointer });
const thread = { configurable: { thread_id: "order-7" }, durability: "sync" as const };
await graph.invoke({ messages: [new HumanMessage("hi")] }, thread);
await checkpointer.withThread("order-7", () => graph.invoke(new Command({ resume: "yes" }), thread));
const copied = await checkpointer.copyThread(thread, "order-7-copy");
await graph.updateState(copied, { messages: [new HumanMessage("what if")] });
const { bytes } = await checkpointer.prune("order-7", { keep: 20 });
same<typeof bytes, number>();
await checkpointer.importThread(new MemorySaver(), "from-elsewhere");
for await (const { threadId, updatedAt } of checkpointer.threads({ limit: 10 })) console.log(threadId, updatedAt);
const threeMethods = {
  getCheckpoints: async () => [],
  saveCheckpoint: async () => {},
  getLatestCheckpoint: async () => undefined,
};
// @ts-expect-error a provider of three methods keeps checkpoints of agents, not threads
new PersistenceSaver({ storage: threeMethods });
durableTools(checkpointer, [charge], {
  charge: { probe: ({ cents }, { toolCallId }) => (cents > 0 && toolCallId !== "" ? "done" : "not-done") },
});
// @ts-expect-error no tool has this name
durableTools(checkpointer, [charge], { chrage: { effect: "none" } });
// @ts-expect-error not an effect
durableTools(checkpointer, [charge], { charge: { effect: "readonly" } });
await checkpointer.settleToolCall("order-7", "id", { output: "charged 900" });
export const inMemory = new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() });
