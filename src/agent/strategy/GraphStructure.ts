import type { GraphPlan } from "./GraphPlan.ts";

/** The shape of a graph as plain JSON. Its fingerprint is a digest of it, and two versions are compared by it. */
export interface GraphStructure {
  /** Sorted by name. */
  readonly nodes: readonly NodeStructure[];
  /** Sorted by the node they leave, then by the order they are tried. */
  readonly edges: readonly EdgeStructure[];
}

/** A node, or a subgraph with its content. */
export interface NodeStructure {
  readonly name: string;
  /** Absent: the node is not a subgraph. */
  readonly graph?: GraphStructure;
}

/** An edge. Its condition and mapping are functions, which are not compared. */
export interface EdgeStructure {
  readonly from: string;
  readonly to: string;
  /** Its index among the edges of `from`. */
  readonly ordinal: number;
  /** Whether it has a `when`. */
  readonly conditional: boolean;
  /** Whether it has a `map`. */
  readonly mapped: boolean;
}

/** Describes a plan. The order of declaration shows only among the edges of a node, where it matters. */
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

/** By code unit, which does not depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
