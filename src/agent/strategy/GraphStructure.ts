import type { GraphPlan } from "./GraphPlan.ts";

/** The shape of a graph as plain JSON: what makes its fingerprint, and shows how two versions differ. */
export interface GraphStructure {
  /** Sorted by name. */
  readonly nodes: readonly NodeStructure[];
  /** Sorted by the node they leave, then by the order they are tried. */
  readonly edges: readonly EdgeStructure[];
}

/** A node, or a subgraph with what is in it. */
export interface NodeStructure {
  readonly name: string;
  /** Of a subgraph. */
  readonly graph?: GraphStructure;
}

/** An edge; what its condition and mapping do cannot be described. */
export interface EdgeStructure {
  readonly from: string;
  readonly to: string;
  /** Its place among the edges of `from`, from 0. */
  readonly ordinal: number;
  /** Whether it has a `when`. */
  readonly conditional: boolean;
  /** Whether it has a `map`. */
  readonly mapped: boolean;
}

/** Describes a plan. Order of declaration shows only where it matters: among the edges of one node. */
export function structureOf(plan: GraphPlan): GraphStructure {
  const nodes = [...plan.nodes]
    .sort(([a], [b]) => compare(a, b))
    .map(([name, node]) => ({ name, ...(node.kind === "subgraph" && { graph: structureOf(node.graph) }) }));
  const edges = [...plan.edges]
    .sort(([a], [b]) => compare(a, b))
    .flatMap(([from, list]) =>
      list.map(({ to, when, map }, ordinal) => ({
        from,
        to,
        ordinal,
        conditional: when !== undefined,
        mapped: map !== undefined,
      })),
    );
  return { nodes, edges };
}

/** By code unit: the same on every machine, whatever its language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
