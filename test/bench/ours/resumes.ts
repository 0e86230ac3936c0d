import { AIAgent, type AnyTool, Persistence, type PersistenceStorageProvider, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { z } from "zod";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";
import { EndOfLoop } from "./loopingAgent.ts";

/** An agent on files with 100 steps, whose code is unchanged: from `resume()` to the node where it stops, medians in milliseconds. */
export interface ResumeFigures {
  /** The definition is new, so that its nodes, edges, schemas and tools are described and compared. */
  readonly newMs: number;
  /** The same definition again: its code is known. */
  readonly knownMs: number;
}

const steps = 100;
/** Of each kind: nodes with two schemas, and tools. */
const parts = 20;
const rounds = 40;
/** The first rounds compile the code and are thrown away. */
const warmUp = 10;

/** Resumes an agent by a new definition and by the same one again. All have one storage, which knows what it has read. */
export async function resumes(directory: string): Promise<ResumeFigures> {
  const storage = new FilePersistenceStorageProvider({ directory });
  await stopping(() => definition(storage).run(1, { agentId: "bench" }));
  const [fresh, known]: [number[], number[]] = [[], []];
  for (let round = 0; round < warmUp + rounds; round++) {
    const agent = definition(storage);
    const resume = () => stopping(() => agent.resume({ agentId: "bench" }));
    fresh.push(await timeOf(resume));
    known.push(await timeOf(resume));
  }
  await storage.log.close();
  return { newMs: median(fresh.slice(warmUp)), knownMs: median(known.slice(warmUp)) };
}

async function stopping(begin: () => Promise<unknown>): Promise<void> {
  const outcome = await begin().catch((error: unknown) => error);
  if (!(outcome instanceof EndOfLoop)) throw new Error("The agent was to stop.", { cause: outcome });
}

function definition(storage: PersistenceStorageProvider): AIAgent<number, number> {
  const built = strategy<number, number>("checked", (graph) => {
    const nodes = Array.from({ length: parts }, (_, at) =>
      graph.node(`step ${at}`, { input: z.number().min(0).max(1_000), output: z.number().min(at) }, (step: number) => {
        if (step > steps) throw new EndOfLoop();
        return step + 1;
      }),
    );
    const [first] = nodes;
    if (!first) throw new Error();
    graph.edge(graph.start, first);
    graph.edge(first, graph.finish, { when: (step) => step > 2 * steps });
    for (const [at, node] of nodes.entries()) graph.edge(node, nodes[(at + 1) % parts] ?? first);
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  const agent = new AIAgent({
    llmModel: "none",
    promptExecutor,
    strategy: built,
    tools: tools(),
    maxIterations: 1_000,
  });
  return agent.install(Persistence, { storage });
}

function tools(): readonly AnyTool[] {
  return Array.from({ length: parts }, (_, at) =>
    tool({
      name: `tool${at}`,
      description: "",
      inputSchema: z.object({ id: z.string().max(100), amounts: z.array(z.number().int()).max(at + 1) }),
      execute: ({ id }) => id,
    }),
  );
}
