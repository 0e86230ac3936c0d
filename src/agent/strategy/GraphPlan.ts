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

export type NodePlan = LeafPlan | SubgraphPlan;

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
