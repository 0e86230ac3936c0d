import {
  AIAgent,
  Persistence,
  type Graph,
  type Node,
  strategy,
  type Strategy,
  type AnyTool,
  tool,
} from "agent-persistence";
import type {
  Migration,
  PersistenceEvent,
  PersistenceStorageProvider,
  RetentionPolicy,
  RollbackToolRegistry,
} from "agent-persistence";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";
import { Stopped } from "../../support/durableAgent.ts";

type Any = Node<string, string>;

/** A node of a spec: one with a body, a subgraph, or a parallel node. */
export interface NodeSpec {
  readonly name: string;
  readonly input?: z.ZodType<string>;
  readonly output?: z.ZodType<string>;
  readonly inside?: Spec;
  /** The nodes of the branches by name; `"each"`: one for each letter. */
  readonly branches?: Readonly<Record<string, string>> | { readonly each: string; readonly keyed?: boolean };
  readonly options?: { readonly history?: "fork" | "fresh"; readonly onFailure?: "finish" | "stop" };
  /** Default: it returns its input with its name. */
  readonly says?: string;
}

export interface EdgeSpec {
  readonly from: string;
  readonly to: string;
  readonly when?: (output: string) => boolean;
  readonly map?: (output: string) => string;
}

/** A strategy and its tools as plain data, so that a change of it is one function. */
export interface Spec {
  readonly nodes: readonly NodeSpec[];
  readonly edges: readonly EdgeSpec[];
  readonly input?: z.ZodType<string>;
  readonly output?: z.ZodType<string>;
  readonly tools: readonly AnyTool[];
  readonly version?: number;
}

/** Where a run of the spec stops: in a node, by its name; `undefined`: nowhere. */
export interface Stop {
  at: string | undefined;
}

export const lookUp = tool({
  name: "lookUp",
  description: "Looks up.",
  inputSchema: z.object({ key: z.string() }),
  effect: "none",
  execute: ({ key }) => key,
});

/** one, two, deep (a, b), fan (x, y), list (item), three. */
export const base: Spec = {
  nodes: [
    { name: "one" },
    { name: "two" },
    {
      name: "deep",
      inside: { nodes: [{ name: "a" }, { name: "b" }], edges: chain("start", "a", "b", "finish"), tools: [] },
    },
    { name: "x" },
    { name: "y" },
    { name: "fan", branches: { left: "x", right: "y" } },
    { name: "item" },
    { name: "list", branches: { each: "item" } },
    { name: "three" },
  ],
  edges: chain("start", "one", "two", "deep", "fan", "list", "three", "finish"),
  tools: [lookUp],
};

export function chain(...names: readonly string[]): readonly EdgeSpec[] {
  return names.slice(1).map((to, at) => ({ from: names[at] ?? "", to }));
}

export function built(name: string, spec: Spec, stop: Stop): Strategy<string, string> {
  const { input = z.string(), output = z.string(), version } = spec;
  const given = spec.input || spec.output ? { input, output } : {};
  return strategy<string, string>(name, { ...given, ...(version !== undefined && { version }) } as object, (graph) => {
    const nodes = new Map<string, Any>([
      ["start", graph.start as unknown as Any],
      ["finish", graph.finish as unknown as Any],
    ]);
    for (const node of spec.nodes) nodes.set(node.name, add(graph, node, nodes, stop));
    const items = spec.nodes.filter(({ branches }) => branches && "each" in branches).map(({ name: each }) => each);
    for (const { from, to, ...given } of spec.edges) {
      const options = items.includes(to) ? { ...given, map: (text: string) => text.slice(0, 2).split("") } : given;
      graph.edge(of(nodes, from), of(nodes, to), options as object);
    }
  });
}

function of(nodes: ReadonlyMap<string, Any>, name: string): Any {
  const node = nodes.get(name);
  if (!node) throw new Error(`The spec has no node ${name}.`);
  return node;
}

function add(graph: Graph<string, string>, node: NodeSpec, nodes: ReadonlyMap<string, Any>, stop: Stop): Any {
  const { name, inside, branches, options = {}, input, output, says = name } = node;
  if (inside) return graph.subgraph<string, string>(name, built(name, inside, stop));
  if (!branches) {
    const schemas = { ...(input && { input }), ...(output && { output }) } as object;
    return graph.node(name, schemas, (text: unknown) => {
      if (stop.at === name) throw new Stopped("stopped");
      return `${String(text)}${says.at(0)}`;
    }) as unknown as Any;
  }
  if ("each" in branches && typeof branches.each === "string") {
    const keyed =
      "keyed" in branches && branches.keyed === true ? { key: (_item: string, at: number) => `k${at}` } : {};
    const each = graph.each(name, of(nodes, branches.each), { ...options, ...keyed } as object, (texts) =>
      texts.join(""),
    );
    return each as unknown as Any;
  }
  const named = Object.entries(branches as Readonly<Record<string, string>>).map(([key, to]) => [key, of(nodes, to)]);
  return graph.parallel(name, Object.fromEntries(named) as Record<string, Any>, options, (texts) =>
    Object.values(texts).join(""),
  ) as unknown as Any;
}

export interface Place {
  readonly name: string;
  /** The agent that runs a spec at this place. */
  readonly agent: (spec: Spec, stop: Stop, storage: PersistenceStorageProvider, options?: PlaceOptions) => AIAgent;
  /** The path of a node of the spec. */
  readonly path: (node: string) => string;
}

export interface PlaceOptions {
  readonly onEvent?: (event: PersistenceEvent) => void;
  readonly migrations?: readonly Migration[];
  readonly rollbackToolRegistry?: RollbackToolRegistry;
  readonly maxCheckpointBytes?: number;
  readonly retention?: RetentionPolicy;
}

function durable(
  id: string,
  graph: Strategy<string, string>,
  tools: readonly AnyTool[],
  config: PlaceOptions & { readonly storage?: PersistenceStorageProvider },
): AIAgent {
  return new AIAgent({ id, llmModel: "m", promptExecutor: scriptedModel([]), strategy: graph, tools }).install(
    Persistence,
    {
      clock: new SimulatedClock(),
      ...config,
    },
  );
}

/** A strategy of its own, a branch of a parallel node, and an agent that another one calls. */
export const places: readonly Place[] = [
  {
    name: "the strategy",
    agent: (spec, stop, storage, options = {}) =>
      durable("a", built("s", spec, stop), spec.tools, { ...options, storage }),
    path: (node) => node,
  },
  {
    name: "a branch",
    agent: (spec, stop, storage, options = {}) => {
      const { version = 0, tools, ...inside } = spec;
      const graph = strategy<string, string>("s", { version }, (outer) => {
        const work = outer.subgraph<string, string>("work", built("work", { ...inside, tools }, stop));
        const other = outer.node("other", (text: string) => text);
        const both = outer.parallel("both", { work, other }, ({ work: done }) => done);
        outer.edge(outer.start, both);
        outer.edge(both, outer.finish);
      });
      return durable("a", graph, tools, { ...options, storage });
    },
    path: (node) => `work/${node}`,
  },
  {
    name: "a called agent",
    agent: (spec, stop, storage, { onEvent, retention, maxCheckpointBytes, ...options } = {}) => {
      const called = durable("called", built("s", spec, stop), spec.tools, options);
      const ask = called.asTool({
        name: "ask",
        description: "Asks.",
        inputSchema: z.object({ text: z.string() }),
        input: ({ text }) => text,
      });
      const graph = strategy<string, string>("caller", (outer) => {
        const call = outer.node("call", async (text: string, { tools }) => tools.call(ask, { text }));
        outer.edge(outer.start, call);
        outer.edge(call, outer.finish);
      });
      return durable("a", graph, [ask], {
        ...(onEvent && { onEvent }),
        ...(retention && { retention }),
        ...(maxCheckpointBytes && { maxCheckpointBytes }),
        storage,
      });
    },
    path: (node) => node,
  },
];
