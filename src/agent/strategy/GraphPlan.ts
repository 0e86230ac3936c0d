import type { z } from "zod";
import type { AgentContext } from "../context/AgentContext.ts";

export interface GraphPlan {
  readonly nodes: ReadonlyMap<string, NodePlan>;
  /** The outgoing edges of each node by node name, in the order in which they are tried. Includes "start". */
  readonly edges: ReadonlyMap<string, readonly EdgePlan[]>;
  readonly input?: z.core.$ZodType;
  readonly output?: z.core.$ZodType;
}

export type NodePlan = LeafPlan | SubgraphPlan | ParallelPlan;

export interface LeafPlan extends Pick<GraphPlan, "input" | "output"> {
  readonly kind: "leaf";
  readonly handle: object;
  readonly run: (input: unknown, context: AgentContext) => unknown;
}

export interface SubgraphPlan {
  readonly kind: "subgraph";
  readonly handle: object;
  readonly graph: GraphPlan;
}

/** A node that runs other nodes of its graph concurrently as branches and joins them. */
export interface ParallelPlan {
  readonly kind: "parallel";
  readonly handle: object;
  readonly branches: BranchesPlan;
  readonly history: BranchHistory;
  readonly onFailure: BranchFailure;
  readonly merge: (results: unknown, context: AgentContext) => unknown;
}

/** The messages at the start of a branch: the whole history, or only the system prompt. */
export type BranchHistory = "fork" | "fresh";

/** What other branches do after a branch has failed: run to their end, or to their next checkpoint. */
export type BranchFailure = "finish" | "stop";

export type BranchesPlan = NamedBranchesPlan | EachBranchesPlan;

export interface NamedBranchesPlan {
  readonly kind: "named";
  /** Node names of the same graph by branch name, in declaration order. Never empty. */
  readonly nodes: ReadonlyMap<string, string>;
}

export interface EachBranchesPlan {
  readonly kind: "each";
  readonly node: string;
  /** Defaults to the index. */
  readonly key?: (item: unknown, index: number) => string;
  /** The maximum number of concurrent branches. `Infinity` for all. */
  readonly concurrency: number;
}

export interface EdgePlan {
  /** The name of a node of the same graph, or "finish". */
  readonly to: string;
  readonly when?: (output: unknown) => boolean;
  readonly map?: (output: unknown) => unknown;
}

const plans = new WeakMap<object, GraphPlan>();

export function registerPlan(strategy: object, plan: GraphPlan): void {
  plans.set(strategy, plan);
}

export function isStrategy(value: unknown): boolean {
  return plans.has(value as object);
}

export function planOf(strategy: object): GraphPlan {
  const plan = plans.get(strategy);
  if (!plan) throw new TypeError("Expected a strategy that strategy(…) returned, found another object.");
  return plan;
}

export function branchProblem(graph: Pick<GraphPlan, "nodes" | "edges">): string | undefined {
  return edgeOfBranch(graph) ?? nameOfPath(graph);
}

export function branchNodes({ branches }: Pick<ParallelPlan, "branches">): readonly string[] {
  return branches.kind === "each" ? [branches.node] : [...branches.nodes.values()];
}

function edgeOfBranch({ nodes, edges }: Pick<GraphPlan, "nodes" | "edges">): string | undefined {
  const owners = new Map<string, string>();
  for (const [name, node] of nodes)
    if (node.kind === "parallel") for (const branch of branchNodes(node)) owners.set(branch, name);
  for (const [from, list] of edges) {
    for (const { to } of list) {
      const branch = [from, to].find((name) => owners.has(name));
      if (branch === undefined) continue;
      const owner = owners.get(branch) ?? "";
      return `an edge leads from "${from}" to "${to}", but "${branch}" is a branch of "${owner}", and a branch has no edges. Let the edge lead ${branch === from ? "from" : "to"} "${owner}". If the branch needs several nodes, make it a subgraph.`;
    }
  }
  return undefined;
}

/** Returns the first node name with "#" if the graph has branches, whose paths use "#", such as "both#facts". */
function nameOfPath({ nodes }: Pick<GraphPlan, "nodes">): string | undefined {
  if (![...nodes.values()].some(hasParallel)) return undefined;
  const wrong = [...nodes.keys()].find((name) => name.includes("#"));
  if (wrong === undefined) return undefined;
  return `"${wrong}" contains "#", which separates a parallel node from its branch. Give the node a name without "#": this graph has parallel nodes.`;
}

function hasParallel(node: NodePlan): boolean {
  if (node.kind === "subgraph") return [...node.graph.nodes.values()].some(hasParallel);
  return node.kind === "parallel";
}
