import { AIAgent, Persistence, tool, type PersistenceStorageProvider } from "agent-persistence";
import { LogPersistenceStorageProvider, TableRecordLog } from "agent-persistence/storage";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { connect } from "./connect.ts";
import { RedisTable } from "./RedisTable.ts";

const redis = connect();
const orders: string[] = [];

const order = tool({
  name: "order",
  description: "Orders one thing.",
  inputSchema: z.object({ thing: z.string() }),
  execute: ({ thing }) => orders.push(thing),
});

const storage = () => new LogPersistenceStorageProvider(new TableRecordLog(new RedisTable(redis, "shop:")));
const buyer = (kept: PersistenceStorageProvider = storage()) => {
  const calls = ["tea", "cups"].map((thing) => ({ toolCalls: [{ toolName: "order", input: { thing } }] }));
  const promptExecutor = scriptedModel([...calls, "Both are ordered."]);
  return new AIAgent({ id: "buyer", promptExecutor, llmModel: "scripted", tools: [order] }).install(Persistence, {
    storage: kept,
  });
};

await buyer(crashAfter(storage(), 5))
  .run("Order tea and cups")
  .catch(() => console.log(`crashed after these orders: ${orders.join(", ")}`));
const result = await buyer().resume();
console.log(`after it: ${result.status === "completed" ? result.output : result.status}`);
console.log(`ordered in all: ${orders.join(", ")}`);
redis.disconnect();
