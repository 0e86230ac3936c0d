import { tool, type AnyTool } from "agent-persistence";
import { z } from "zod";
import { base, chain, type EdgeSpec, lookUp, type NodeSpec, type Spec } from "./Spec.ts";

/** What becomes of a line that stands before the change, at it, and after it. */
type Verdicts = readonly [before: Verdict, at: Verdict, after: Verdict];
type Verdict = "same" | "compatible" | "incompatible";

export interface Change {
  readonly what: string;
  readonly before?: Spec;
  readonly after: Spec;
  /** The node that counts as the place of the change. Default: two. */
  readonly at?: string;
  readonly verdicts: Verdicts;
}

const never: Verdicts = ["compatible", "compatible", "compatible"];
const unseen: Verdicts = ["same", "same", "same"];
const ahead: Verdicts = ["incompatible", "incompatible", "compatible"];
const always: Verdicts = ["incompatible", "incompatible", "incompatible"];
const behind: Verdicts = ["incompatible", "compatible", "compatible"];

const text = z.string();

function node(name: string, change: Partial<NodeSpec>, of: Spec = base): Spec {
  return { ...of, nodes: of.nodes.map((each) => (each.name === name ? { ...each, ...change } : each)) };
}

export function renamedNode(from: string, to: string, of: Spec = base): Spec {
  const now = (name: string) => (name === from ? to : name);
  const branches = (given: NodeSpec["branches"]): NodeSpec["branches"] => {
    if (!given) return undefined;
    if ("each" in given && typeof given.each === "string") return { ...given, each: now(given.each) };
    return Object.fromEntries(Object.entries(given).map(([key, name]) => [key, now(String(name))]));
  };
  return {
    ...of,
    nodes: of.nodes.map((each) => ({
      ...each,
      name: now(each.name),
      ...(each.branches && { branches: branches(each.branches) }),
    })) as readonly NodeSpec[],
    edges: of.edges.map((edge) => ({ ...edge, from: now(edge.from), to: now(edge.to) })),
  };
}

function edges(...changed: readonly EdgeSpec[]): Spec {
  const froms = new Set(changed.map(({ from }) => from));
  return { ...base, edges: [...base.edges.filter(({ from }) => !froms.has(from)), ...changed] };
}

function inside(change: (deep: Spec) => Spec): Spec {
  const deep = base.nodes.find(({ name }) => name === "deep")?.inside;
  return node("deep", { inside: change(deep ?? base) });
}

function tools(...given: readonly AnyTool[]): Spec {
  return { ...base, tools: given };
}

const looked = {
  name: "lookUp",
  description: "Looks up.",
  effect: "none",
  execute: ({ key }: { key: string }) => key,
} as const;
const pay = tool({
  name: "pay",
  description: "Pays.",
  inputSchema: z.object({ sum: z.number() }),
  execute: ({ sum }) => sum,
});
const extra: NodeSpec = { name: "extra" };

/** Every kind of change that a strategy and its tools can have, and what it means for a run that another code has begun. */
export const changes: readonly Change[] = [
  // What functions do is not compared.
  { what: "nothing", after: { ...base }, verdicts: unseen },
  { what: "the code of a node", after: node("three", { says: "!" }), verdicts: unseen },
  {
    what: "the code of a condition",
    before: edges({ from: "one", to: "two", when: () => true }),
    after: edges({ from: "one", to: "two", when: (at) => at !== "" }),
    verdicts: unseen,
  },
  {
    what: "the description of a tool",
    after: tools(tool({ ...looked, inputSchema: z.object({ key: text }), description: "Finds." })),
    verdicts: unseen,
  },
  {
    what: "equal schemas that are built again",
    before: node("two", { input: z.string().min(1), output: z.string() }),
    after: node("two", { input: z.string().min(1), output: z.string() }),
    verdicts: unseen,
  },
  {
    what: "the code of a schema check",
    before: node("two", { input: z.string().refine(() => true) }),
    after: node("two", { input: z.string().refine((at) => at !== "?") }),
    verdicts: unseen,
  },
  {
    what: "the description of a schema",
    before: node("two", { input: z.string() }),
    after: node("two", { input: z.string().describe("a text") }),
    verdicts: unseen,
  },
  // What is added and not reached before.
  {
    what: "a node without stored incoming edges",
    after: { ...base, nodes: [...base.nodes, extra], edges: [...base.edges, ...chain("extra", "finish")] },
    verdicts: never,
  },
  { what: "a tool", after: tools(lookUp, pay), verdicts: never },
  {
    what: "an edge after the existing edges of a node",
    before: edges({ from: "two", to: "deep", when: () => true }),
    after: edges({ from: "two", to: "deep", when: () => true }, { from: "two", to: "three" }),
    verdicts: never,
  },
  { what: "the version, one higher", after: { ...base, version: 1 }, verdicts: never },
  { what: "the version, several higher", after: { ...base, version: 7 }, verdicts: never },
  { what: "the version, one lower", before: { ...base, version: 1 }, after: base, verdicts: always },
  {
    what: "a node inside a subgraph without stored incoming edges",
    after: inside((deep) => ({
      ...deep,
      nodes: [...deep.nodes, extra],
      edges: [...deep.edges, ...chain("extra", "finish")],
    })),
    verdicts: never,
  },
  // Nodes.
  {
    what: "a node renamed",
    after: renamedNode("two", "second"),
    verdicts: ["incompatible", "incompatible", "compatible"],
  },
  {
    what: "the first node renamed",
    after: renamedNode("one", "first"),
    at: "two",
    verdicts: ["incompatible", "compatible", "compatible"],
  },
  { what: "the last node renamed", after: renamedNode("three", "last"), verdicts: always },
  {
    what: "a node removed",
    after: {
      ...base,
      nodes: base.nodes.filter(({ name }) => name !== "two"),
      edges: chain("start", "one", "deep", "fan", "list", "three", "finish"),
    },
    verdicts: ahead,
  },
  {
    what: "a node put between two others",
    after: {
      ...base,
      nodes: [...base.nodes, extra],
      edges: chain("start", "one", "extra", "two", "deep", "fan", "list", "three", "finish"),
    },
    verdicts: behind,
  },
  {
    what: "a node made a subgraph",
    after: node("two", { inside: { nodes: [{ name: "c" }], edges: chain("start", "c", "finish"), tools: [] } }),
    verdicts: ahead,
  },
  {
    what: "the input schema of a node",
    before: node("two", { input: z.string() }),
    after: node("two", { input: z.string().max(99) }),
    verdicts: ahead,
  },
  {
    what: "the output schema of a node",
    before: node("two", { output: z.string() }),
    after: node("two", { output: z.string().max(99) }),
    verdicts: ahead,
  },
  { what: "a new input schema", after: node("two", { input: z.string() }), verdicts: ahead },
  { what: "a removed output schema", before: node("two", { output: z.string() }), after: base, verdicts: ahead },
  {
    what: "the pattern of a schema",
    before: node("two", { input: z.string().regex(/./) }),
    after: node("two", { input: z.string().regex(/../) }),
    verdicts: ahead,
  },
  // The strategy.
  {
    what: "the input schema of the strategy",
    before: { ...base, input: z.string() },
    after: { ...base, input: z.string().max(99) },
    verdicts: never,
  },
  {
    what: "the output schema of the strategy",
    before: { ...base, output: z.string() },
    after: { ...base, output: z.string().max(99) },
    verdicts: always,
  },
  // Edges.
  { what: "an edge to another node", after: edges({ from: "two", to: "three" }), verdicts: ahead },
  { what: "an earlier edge to another node", after: edges({ from: "one", to: "deep" }), verdicts: behind },
  { what: "a condition on an edge", after: edges({ from: "two", to: "deep", when: () => true }), verdicts: ahead },
  { what: "a mapping on an edge", after: edges({ from: "two", to: "deep", map: (at) => at }), verdicts: ahead },
  {
    what: "an edge before another",
    before: edges({ from: "two", to: "deep" }),
    after: edges({ from: "two", to: "three", when: () => false }, { from: "two", to: "deep" }),
    verdicts: ahead,
  },
  {
    what: "two edges in another order",
    before: edges({ from: "two", to: "deep", when: () => true }, { from: "two", to: "three", when: () => true }),
    after: edges({ from: "two", to: "three", when: () => true }, { from: "two", to: "deep", when: () => true }),
    verdicts: ahead,
  },
  // Subgraphs.
  { what: "a subgraph renamed", after: renamedNode("deep", "inner"), at: "a", verdicts: ahead },
  {
    what: "a node of a subgraph renamed, behind the line in it",
    after: inside((deep) => renamedNode("a", "c", deep)),
    at: "b",
    verdicts: behind,
  },
  {
    what: "a node of a subgraph renamed, before the line in it",
    after: inside((deep) => renamedNode("b", "c", deep)),
    at: "a",
    verdicts: ahead,
  },
  {
    what: "an edge of a subgraph",
    after: inside((deep) => ({ ...deep, edges: chain("start", "a", "finish") })),
    at: "a",
    verdicts: ahead,
  },
  {
    what: "the output schema of a subgraph",
    before: inside((deep) => ({ ...deep, output: z.string() })),
    after: inside((deep) => ({ ...deep, output: z.string().max(99) })),
    at: "b",
    verdicts: ahead,
  },
  // Parallel nodes.
  {
    what: "the node of a branch",
    after: { ...node("fan", { branches: { left: "x", right: "z" } }, renamedNode("y", "z")) },
    at: "x",
    verdicts: ahead,
  },
  {
    what: "an additional branch",
    after: {
      ...base,
      nodes: [extra, ...base.nodes].map((each) =>
        each.name === "fan" ? { ...each, branches: { left: "x", right: "y", more: "extra" } } : each,
      ),
    },
    at: "two",
    verdicts: never,
  },
  {
    what: "a removed branch",
    after: node("fan", { branches: { left: "x" } }, { ...base, nodes: base.nodes.filter(({ name }) => name !== "y") }),
    at: "x",
    verdicts: ahead,
  },
  {
    what: "the schema of a finished branch",
    before: node("x", { input: z.string() }),
    after: node("x", { input: z.string().max(99) }),
    at: "y",
    verdicts: behind,
  },
  {
    what: "the initial history of branches",
    after: node("fan", { options: { history: "fresh" } }),
    at: "x",
    verdicts: ahead,
  },
  {
    what: "the reaction to a failed branch",
    after: node("fan", { options: { onFailure: "stop" } }),
    at: "x",
    verdicts: ahead,
  },
  { what: "the node of each item", after: renamedNode("item", "thing"), at: "item", verdicts: ahead },
  {
    what: "keys for the branches of items",
    after: node("list", { branches: { each: "item", keyed: true } }),
    at: "item",
    verdicts: ahead,
  },
  { what: "a parallel node renamed", after: renamedNode("fan", "both"), at: "x", verdicts: ahead },
  // Tools: any node may call any of them.
  { what: "a tool removed", before: tools(lookUp, pay), after: tools(lookUp), verdicts: always },
  {
    what: "a tool renamed",
    after: tools(tool({ ...looked, name: "find", inputSchema: z.object({ key: text }) })),
    verdicts: always,
  },
  {
    what: "the input schema of a tool",
    after: tools(tool({ ...looked, inputSchema: z.object({ key: text, of: text.optional() }) })),
    verdicts: always,
  },
  // Declaring it anew is how a person settles calls in doubt.
  {
    what: "the effect of a tool",
    after: tools(tool({ ...looked, inputSchema: z.object({ key: text }), effect: "idempotent" })),
    verdicts: never,
  },
];
