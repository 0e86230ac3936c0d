import {
  AIAgent,
  persistence,
  Persistence,
  storageKey,
  strategy,
  type AgentContext,
  type Node,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { z } from "zod";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";
import { parseFiles } from "./parseFiles.ts";
import { EndOfLoop } from "./loopingAgent.ts";

/** A parallel node with many branches. */
export interface LineFigures {
  /** The most of the heap in use while 1,000 items are worked on, and while 10,000 are, in bytes. */
  readonly fewBytes: number;
  readonly manyBytes: number;
  /** Of an agent with 100 open branches: from the call to the start of the first node, medians in milliseconds. */
  readonly openMs: number;
  /** The same files are read, and each of their lines parsed as JSON. */
  readonly parseMs: number;
  /** Answers given beside 200 open requests, and beside 2,000, in the process that gives all of them: median times of one. */
  readonly answerFewMs: number;
  readonly answerManyMs: number;
}

const none = { execute: () => Promise.reject(new Error("No model is asked.")) };
const rounds = 15;
/** The first rounds compile the code and are thrown away. */
const warmUp = 5;
const branches = 100;
const steps = 100;
const value = storageKey("value", z.string());

/** Works on items beside each other, opens an agent with open branches again and again, and answers what branches ask. */
export async function lines(directory: string): Promise<LineFigures> {
  await peakHeap(100, join(directory, "warm-up"));
  const fewBytes = await peakHeap(1_000, join(directory, "few"));
  const manyBytes = await peakHeap(10_000, join(directory, "many"));
  await answering(200, join(directory, "answered"));
  const answerFewMs = await answering(200, join(directory, "answered-few"));
  const answerManyMs = await answering(2_000, join(directory, "answered-many"));
  return { fewBytes, manyBytes, answerFewMs, answerManyMs, ...(await opening(join(directory, "open"))) };
}

async function peakHeap(items: number, directory: string): Promise<number> {
  let [begun, peak] = [0, 0];
  const storage = new FilePersistenceStorageProvider({ directory });
  const work = async (item: number): Promise<number> => {
    if (begun++ % (items / 20) === 0) {
      globalThis.gc?.();
      peak = Math.max(peak, process.memoryUsage().heapUsed);
    }
    return item;
  };
  await agentOf(storage, items, work).run(0, { agentId: "bench" });
  await storage.log.close();
  return peak;
}

/** Each of the branches makes its steps and stops at the next, which is not the end of any. */
async function opening(directory: string): Promise<Pick<LineFigures, "openMs" | "parseMs">> {
  const open: number[] = [];
  const parse: number[] = [];
  await stopping(directory, (agent) => agent.run(0, { agentId: "bench" }));
  for (let round = 0; round < warmUp + rounds; round++) {
    parse.push(await timeOf(() => parseFiles(directory)));
    open.push(await stopping(directory, (agent) => agent.resume({ agentId: "bench" })));
  }
  return { openMs: median(open.slice(warmUp)), parseMs: median(parse.slice(warmUp)) };
}

/** @returns the time to the first node, in milliseconds */
async function stopping(
  directory: string,
  begin: (agent: AIAgent<number, number>) => Promise<unknown>,
): Promise<number> {
  const storage = new FilePersistenceStorageProvider({ directory });
  let reached: number | undefined;
  const agent = stoppingAgent(storage, () => (reached ??= performance.now()));
  const start = performance.now();
  const outcome = await begin(agent).catch((error: unknown) => error);
  await storage.log.close();
  if (!(outcome instanceof EndOfLoop)) throw new Error("The branches were to stop.", { cause: outcome });
  return (reached ?? Number.NaN) - start;
}

function stoppingAgent(storage: PersistenceStorageProvider, onStep: () => void): AIAgent<number, number> {
  const built = strategy<number, number>("stopping", (graph) => {
    const branch = graph.subgraph<number, number>("branch", (inner) => {
      const step = inner.node("step", (made: number, context: AgentContext) => {
        onStep();
        if (made === steps) throw new EndOfLoop();
        context.storage.set(value, `step ${made} `.padEnd(1_000, "."));
        return made + 1;
      });
      inner.edge(inner.start, step);
      inner.edge(step, step, { when: (made: number) => made <= steps });
      inner.edge(step, inner.finish, { when: (made: number) => made > steps });
    });
    const all = graph.each("all", branch, (results: readonly number[]) => results.length);
    graph.edge(graph.start, all, { map: () => Array.from({ length: branches }, () => 0) });
    graph.edge(all, graph.finish);
  });
  return installed(built, storage);
}

/** Every branch asks; then some of the requests are answered, one after another. */
async function answering(open: number, directory: string): Promise<number> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const ask = (item: number, context: AgentContext) => context.requestInput({ prompt: `${item}?`, schema: z.number() });
  const agent = agentOf(storage, open, ask, open);
  await agent.run(0, { agentId: "bench" });
  const asked = persistence(agent).agent("bench");
  const times: number[] = [];
  for (const { requestId } of (await asked.getRequests()).slice(0, 60))
    times.push(await timeOf(() => asked.answer(requestId, 1)));
  await storage.log.close();
  return median(times.slice(10));
}

function agentOf(
  storage: PersistenceStorageProvider,
  items: number,
  work: (item: number, context: AgentContext) => Promise<number>,
  concurrency = 100,
): AIAgent<number, number> {
  const built = strategy<number, number>("working", (graph) => {
    const node: Node<number, number> = graph.node("work", work);
    const all = graph.each("all", node, { concurrency }, (results: readonly number[]) => results.length);
    graph.edge(graph.start, all, { map: () => Array.from({ length: items }, (_, at) => at) });
    graph.edge(all, graph.finish);
  });
  return installed(built, storage);
}

function installed(
  built: ConstructorParameters<typeof AIAgent<number, number>>[0]["strategy"],
  storage: PersistenceStorageProvider,
): AIAgent<number, number> {
  const agent = new AIAgent({ llmModel: "none", promptExecutor: none, strategy: built, maxIterations: 1_000_000 });
  return agent.install(Persistence, { storage });
}
