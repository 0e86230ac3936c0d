import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  storageKey,
  strategy,
  tool,
} from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { z } from "zod";
import { FileRecordLog } from "../../src/storage/file/FileRecordLog.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";

const large = storageKey("large", z.string());

/** Storages that can give and take agents, with values small enough to be blobs. */
export const storages: Readonly<Record<string, () => Promise<LogPersistenceStorageProvider>>> = {
  memory: async () => new LogPersistenceStorageProvider(new MemoryRecordLog(), { inlineThresholdBytes: 300 }),
  files: async () =>
    new LogPersistenceStorageProvider(new FileRecordLog({ directory: await testDirectory() }), {
      inlineThresholdBytes: 300,
    }),
};

export const plainStorages = { InMemoryPersistenceStorageProvider, FilePersistenceStorageProvider };

/** An agent that pays twice, with a question in between. */
export function payer(storage: LogPersistenceStorageProvider, paid: string[] = []) {
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ to: z.string() }),
    effect: "idempotent",
    execute: ({ to }) => {
      paid.push(to);
      return `paid ${to}`;
    },
  });
  const payments = strategy<string, string>("payments", (graph) => {
    const first = graph.node("first", async (to: string, context) => {
      context.storage.set(large, `${to} `.repeat(200));
      await context.tools.call(pay, { to } as never);
      return to;
    });
    const ask = graph.node("ask", async (to: string, context) => {
      const more = await context.requestInput({ prompt: `Again to ${to}?`, schema: z.boolean() });
      return more ? to : "nobody";
    });
    const second = graph.node("second", async (to: string, context) => {
      await context.tools.call(pay, { to } as never);
      return `${to}, ${context.storage.get(large)?.length}`;
    });
    graph.edge(graph.start, first);
    graph.edge(first, ask);
    graph.edge(ask, second);
    graph.edge(second, graph.finish);
  });
  const agent = new AIAgent({
    id: "payer",
    llmModel: "none",
    promptExecutor: { execute: () => Promise.reject(new Error("No model is asked.")) },
    tools: [pay],
    strategy: payments,
  }).install(Persistence, { storage });
  return { agent, feature: persistence(agent), paid };
}

/** An agent that waits for its answer. */
export async function waitingPayer(storage: LogPersistenceStorageProvider, agentId = "order-7", paid: string[] = []) {
  const made = payer(storage, paid);
  await made.agent.run("ann", { agentId });
  return { ...made, durable: made.feature.agent(agentId) };
}

/** Answers what the agent asks, and lets it go on to its end. */
export async function finish({ agent, feature }: ReturnType<typeof payer>, agentId = "order-7") {
  const durable = feature.agent(agentId);
  const [request] = await durable.getRequests();
  if (request) await durable.answer(request.requestId, true);
  return agent.resume({ agentId });
}

/** How often an import of the agent was stored. */
export async function timesImported({ log }: LogPersistenceStorageProvider, agentId: string): Promise<number> {
  let times = 0;
  for await (const { records } of log.read(agentId))
    times += records.filter((record) => (record as { readonly kind: string }).kind === "custody").length;
  return times;
}

export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

/** Bytes in pieces of a size. */
export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
