import type { AgentContext } from "../context/AgentContext.ts";
import type { z } from "zod";

/** A built graph, as immutable plain data. */
export interface GraphPlan {
  readonly nodes: ReadonlyMap<string, NodePlan>;
  /** By the name of the node that they leave, "start" included, in the order they are tried. */
  readonly edges: ReadonlyMap<string, readonly EdgePlan[]>;
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
}

export type NodePlan = LeafPlan | SubgraphPlan | ParallelPlan;

/** A node with a body. */
export interface LeafPlan extends Pick<GraphPlan, "input" | "output"> {
  readonly kind: "leaf";
  /** What `graph.node` returned. */
  readonly handle: object;
  readonly run: (input: unknown, context: AgentContext) => unknown;
}

/** A node that is a graph. */
export interface SubgraphPlan {
  readonly kind: "subgraph";
  /** What `graph.subgraph` returned. */
  readonly handle: object;
  readonly graph: GraphPlan;
}

/** A node that runs other nodes of its graph side by side, each as a branch, and joins them. */
export interface ParallelPlan {
  readonly kind: "parallel";
  /** What `graph.parallel` or `graph.each` returned. */
  readonly handle: object;
  readonly branches: BranchesPlan;
  readonly history: BranchHistory;
  readonly onFailure: BranchFailure;
  /** Gets the outputs by branch name, or in the order of the items. */
  readonly merge: (results: unknown, context: AgentContext) => unknown;
}

/** What a branch begins with: the history of the fork, or of its messages only the system prompt. */
export type BranchHistory = "fork" | "fresh";

/** What the other branches do after one has failed: they run to their end, or to their next checkpoint. */
export type BranchFailure = "finish" | "stop";

export type BranchesPlan = NamedBranchesPlan | EachBranchesPlan;

export interface NamedBranchesPlan {
  readonly kind: "named";
  /** Names of nodes of the same graph by branch name, in the order of declaration. Never empty. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** One branch for each item of the input. */
export interface EachBranchesPlan {
  readonly kind: "each";
  /** The name of a node of the same graph. */
  readonly node: string;
  /** Absent: the index is the key. */
  readonly key?: (item: unknown, index: number) => string;
  /** How many branches run at a time. `Infinity`: all. */
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
