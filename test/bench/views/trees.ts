import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";

/** An agent with 10,000 checkpoints on files, medians in milliseconds. */
export interface TreeFigures {
  /** `getCheckpoints()`, none of whose large parts is opened. */
  readonly readMs: number;
  /** `checkpointTree()` */
  readonly treeMs: number;
}

const checkpoints = 10_000;
const rounds = 9;
/** The first rounds compile the code and are thrown away. */
const warmUp = 3;

export async function trees(directory: string): Promise<TreeFigures> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const counting = strategy<number, number>("counting", (graph) => {
    const step = graph.node("step", (left: number) => left - 1);
    graph.edge(graph.start, step);
    graph.edge(step, step, { when: (left) => left > 0 });
    graph.edge(step, graph.finish, { when: (left) => left <= 0 });
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  const agent = new AIAgent({ llmModel: "none", promptExecutor, strategy: counting, maxIterations: 1_000_000 });
  agent.install(Persistence, { storage });
  await agent.run(checkpoints - 1, { agentId: "bench" });
  const of = persistence(agent).agent("bench");
  const [read, tree]: [number[], number[]] = [[], []];
  for (let round = 0; round < warmUp + rounds; round++) {
    read.push(await timeOf(() => of.getCheckpoints()));
    tree.push(await timeOf(() => of.checkpointTree()));
  }
  await storage.log.close();
  return { readMs: median(read.slice(warmUp)), treeMs: median(tree.slice(warmUp)) };
}
