import {
  AIAgent,
  type Graph,
  type Migration,
  type Node,
  Persistence,
  type PersistenceStorageProvider,
  strategy,
  tool,
} from "agent-persistence";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";

type Step = Node<string, string>;

/** What a process of the agent is made with. */
export interface AskingOptions {
  /** Of the code. Each version has other names for the nodes that ask. */
  readonly version: number;
  /** Whether checkpoints are made automatically. */
  readonly automatic: boolean;
  /** Each thing that was done, in order; it outlives the processes. */
  readonly done: string[];
}

/** All that the agent does once. What begins with "ask" must be approved. */
export const steps: readonly string[] = ["first", "a", "askA", "b", "inner", "askX", "askY", "askZ", "last"];

/** The step that a node makes, whatever the version calls it. */
export function stepOf(nodeId: string): string {
  return (nodeId.split("/").at(-1) ?? "").replace(/\d+$/, "");
}

/** The version of the code that a node which asks is of. */
export function versionOf(nodeId: string): number {
  return Number(/\d+$/.exec(nodeId)?.[0]);
}

/**
 * An agent of two branches: one asks, and then calls an agent that asks; the other has two branches that ask. No effect comes
 * before a question in its node. The output names the steps, and what each was given before.
 */
export function askingAgent(storage: PersistenceStorageProvider, options: AskingOptions): AIAgent<string, string> {
  const { version, automatic, done } = options;
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ step: z.string() }),
    effect: "irreversible",
    needsApproval: ({ step }) => step.startsWith("ask") && { prompt: step },
    execute: ({ step }) => {
      done.push(step);
      return step;
    },
  });
  const stepIn = (graph: Graph<string, string>, step: string): Step =>
    graph.node(step.startsWith("ask") ? `${step}${version}` : step, async (text: string, { tools }) => {
      await tools.call(pay, { step });
      return `${text} ${step}`;
    });
  const base = { llmModel: "m", promptExecutor: scriptedModel([]) };
  const called = new AIAgent({
    ...base,
    id: "called",
    tools: [pay],
    strategy: strategy<string, string>("called", { version }, (graph) => {
      chain(graph, [stepIn(graph, "inner"), stepIn(graph, "askY")]);
    }),
  }).install(Persistence, { migrations: migrationsTo(version, "") });
  const call = called.asTool({
    name: "call",
    description: "",
    inputSchema: z.object({ text: z.string() }),
    input: ({ text }) => text,
  });
  const graph = strategy<string, string>("asking", { version }, (outer) => {
    const left = outer.subgraph<string, string>("left", (within) => {
      const calls = within.node("calls", async (text: string, { tools }) => tools.call(call, { text }));
      chain(within, [stepIn(within, "a"), stepIn(within, "askA"), calls]);
    });
    const right = outer.subgraph<string, string>("right", (within) => {
      const [x, z] = [stepIn(within, "askX"), stepIn(within, "askZ")];
      const inner = within.parallel("nested", { x, z }, (results) => `(${results.x},${results.z})`);
      chain(within, [stepIn(within, "b"), inner]);
    });
    const both = outer.parallel("both", { left, right }, (results) => `[${results.left}|${results.right}]`);
    chain(outer, [stepIn(outer, "first"), both, stepIn(outer, "last")]);
  });
  return new AIAgent({ ...base, id: "a", tools: [pay, call], strategy: graph }).install(Persistence, {
    storage,
    clock: new SimulatedClock(),
    enableAutomaticPersistence: automatic,
    migrations: migrationsTo(version, "left/", "right/"),
  });
}

function chain(graph: Graph<string, string>, nodes: readonly Step[]): void {
  const [first, ...rest] = nodes as [Step, ...Step[]];
  graph.edge(graph.start, first);
  const last = rest.reduce((before, node) => (graph.edge(before, node), node), first);
  graph.edge(last, graph.finish);
}

/** One for each version. @param folders the subgraphs with the nodes that ask */
function migrationsTo(version: number, ...folders: readonly string[]): readonly Migration[] {
  const inside: Readonly<Record<string, readonly string[]>> = {
    "": ["askY"],
    "left/": ["askA"],
    "right/": ["askX", "askZ"],
  };
  return Array.from({ length: version }, (_each, from) => ({
    from,
    to: from + 1,
    nodes: Object.fromEntries(
      folders.flatMap((folder) =>
        (inside[folder] ?? []).map((step) => [`${folder}${step}${from}`, `${folder}${step}${from + 1}`]),
      ),
    ),
  }));
}
