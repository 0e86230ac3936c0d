// Time travel, forks, names, edits, the tree of checkpoints, strategies with a version, and moving an agent.
import { z } from "zod";
import {
  AIAgent,
  type CheckpointTreeNode,
  InMemoryPersistenceStorageProvider,
  type Message,
  Persistence,
  persistence,
  type PromptExecutor,
  storageKey,
  strategy,
} from "agent-persistence";
import { type cancelMove, exportAgent, finishMove, importAgent } from "agent-persistence/transfer";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

declare const promptExecutor: PromptExecutor;
declare const show: (...values: readonly unknown[]) => void;
const storage = new InMemoryPersistenceStorageProvider();
const currency = storageKey("currency", z.enum(["EUR", "USD"]));

// ---- 1 a strategy with a version, and what leads to it from the one before
const refunds = strategy<string, string>("refunds", { version: 2 }, (graph) => {
  const approve = graph.node("approve", async (order: string, context) =>
    (await context.requestInput({ prompt: `Refund ${order}?`, schema: z.boolean() })) ? order : "no",
  );
  graph.edge(graph.start, approve);
  graph.edge(approve, graph.finish);
});
const agent = new AIAgent({ promptExecutor, llmModel: "m", strategy: refunds }).install(Persistence, {
  storage,
  migrations: [
    { from: 0, to: 1, nodes: { gate: "ask" } },
    {
      from: 1,
      to: 2,
      nodes: { ask: "approve" },
      tools: { pay: "payOut" },
      migrate: (line) => ({ ...line, storage: { ...line.storage, currency: "EUR" } }),
    },
  ],
});
for await (const { agentId, verdict, differences } of persistence(agent).checkMigrations()) {
  same<typeof verdict, "same" | "compatible" | "migrates" | "incompatible" | "unreadable">();
  if (verdict === "incompatible") show(agentId, differences);
}
const durable = persistence(agent).agent("order-7");

// ---- 2 time travel and forks
await agent.resume({ agentId: "order-7", checkpointId: "1-2" });
const other = await durable.fork("order-7-other");
const [request] = await other.getRequests();
if (request) await other.answer(request.requestId, false);
await agent.resume({ agentId: other.agentId });
await durable.fork("order-7-third", { checkpointId: "before-refund" });

// ---- 3 edits, names, the tree
await durable.nameCheckpoint("1-2", "before-refund");
const edited = await durable.editCheckpoint("before-refund", {
  by: "ann@example.com",
  reason: "wrong currency",
  nodeId: "approve",
  lastInput: "order 8",
  messageHistory: (messages) => {
    same<typeof messages, readonly Message[]>();
    return messages.slice(0, -1);
  },
  storage: (values) => {
    values.set(currency, "USD");
  },
});
same<typeof edited.checkpointId, string>();
// @ts-expect-error an edit says who and why
await durable.editCheckpoint("1-2", { lastInput: "order 8" });
await durable.removeCheckpointName("before-refund");
const print = (
  { checkpointId, name, nodeId, move, by, branch, agentPath, isHead, children }: CheckpointTreeNode,
  indent = "",
): void => {
  show(`${indent}${checkpointId} ${name ?? ""} ${nodeId} ${move ?? ""} ${by ?? ""} ${branch ?? ""}`);
  show(`${agentPath.join("/")} ${isHead ? "*" : ""}`);
  for (const child of children) print(child, `${indent}  `);
};
for (const root of await durable.checkpointTree()) print(root);

// ---- 4 move: between any two storages, without the agent's code
const there = new InMemoryPersistenceStorageProvider();
const report = await importAgent(there, exportAgent(storage, "order-7", { move: true }));
same<typeof report.agentId, string>();
same<typeof report.checkpoints, number>();
// Or, if it did not arrive: await cancelMove(storage, "order-7")
await finishMove(storage, "order-7", report.receipt);
same<ReturnType<typeof cancelMove>, Promise<void>>();
await importAgent(there, exportAgent(storage, "order-7", { fromCheckpoint: "before-refund" }), {
  agentId: "order-7-copy",
});
