import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "agent-persistence";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { median } from "../measure/statistics.ts";
import type { Target } from "../targets.ts";

const nodes = 3_000;
const rounds = 9;

/** A loop of nodes with memory storage, beside the same loop without persistence. */
export async function nodesInMemory(): Promise<Target[]> {
  const [plain, saved]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    plain.push(await cpuTimeOf(() => countingAgent().run(0)));
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = countingAgent().install(Persistence, { storage });
    saved.push(await cpuTimeOf(() => agent.run(0)));
  }
  const [plainMs, savedMs] = [median(plain), median(saved)];
  const each = `(${((savedMs / nodes) * 1_000).toFixed(0)} µs ÷ ${((plainMs / nodes) * 1_000).toFixed(0)} µs)`;
  return [
    {
      name: `memory: CPU of a node ${each} ÷ the same loop without persistence`,
      found: savedMs / plainMs,
      atMost: 6,
      unit: "×",
    },
  ];
}

function countingAgent(): AIAgent<number, number> {
  const counting = strategy<number, number>("counting", (graph) => {
    const node = graph.node("count", async (count: number) => count + 1);
    graph.edge(graph.start, node);
    graph.edge(node, node, { when: (count) => count < nodes });
    graph.edge(node, graph.finish, { when: (count) => count >= nodes });
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  return new AIAgent({ id: "a", llmModel: "m", promptExecutor, strategy: counting, maxIterations: nodes + 10 });
}
