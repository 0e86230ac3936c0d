import type { z } from "zod";
import type { BranchesPlan, BranchFailure, BranchHistory, GraphPlan, NodePlan } from "./GraphPlan.ts";

/** The shape of a graph as plain JSON. Its fingerprint is a digest of it, and two versions are compared by it. */
export interface GraphStructure {
  /** Sorted by name. */
  readonly nodes: readonly NodeStructure[];
  /** Sorted by the node they leave, then by the order they are tried. */
  readonly edges: readonly EdgeStructure[];
  /** Digests of what it accepts and returns; empty: anything. Absent: the schemas are not described. */
  readonly input?: string;
  readonly output?: string;
}

/** A node, a subgraph with its content, or a parallel node with its branches. */
export interface NodeStructure {
  readonly name: string;
  /** Absent: the node is not a subgraph. */
  readonly graph?: GraphStructure;
  /** Absent: the node is not parallel. */
  readonly parallel?: ParallelStructure;
  /** Of a node with a body: digests of its schemas; empty: it has none. Absent: the schemas are not described. */
  readonly input?: string;
  readonly output?: string;
}

/** How a parallel node runs its branches. What joins them is a function, which is not compared. */
export interface ParallelStructure {
  readonly branches: BranchesStructure;
  readonly history: BranchHistory;
  readonly onFailure: BranchFailure;
}

/** The branches of a parallel node. */
export type BranchesStructure =
  /** The node of each branch, sorted by the name of the branch. */
  | { readonly kind: "named"; readonly nodes: readonly { readonly branch: string; readonly node: string }[] }
  /** The node that runs for each item, and whether the branches have a `key`. */
  | { readonly kind: "each"; readonly node: string; readonly keyed: boolean };

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

/** The digest of a schema; of none, an empty text. */
export type SchemaDigest = (schema: z.ZodType | undefined) => string;

/**
 * Describes a plan. The order of declaration shows only among the edges of a node, where it matters.
 *
 * @param digest describes the schemas, too. Absent: they are left out.
 */
export function structureOf(plan: GraphPlan, digest?: SchemaDigest): GraphStructure {
  const nodes = [...plan.nodes]
    .sort(([a], [b]) => compare(a, b))
    .map(([name, node]) => ({ name, ...contentOf(node, digest) }));
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
  return { nodes, edges, ...schemasOf(plan, digest) };
}

function contentOf(node: NodePlan, digest: SchemaDigest | undefined): Omit<NodeStructure, "name"> {
  if (node.kind === "leaf") return schemasOf(node, digest);
  if (node.kind === "subgraph") return { graph: structureOf(node.graph, digest) };
  const { history, onFailure } = node;
  return { parallel: { branches: branchesStructure(node.branches), history, onFailure } };
}

function schemasOf({ input, output }: Pick<GraphPlan, "input" | "output">, digest: SchemaDigest | undefined) {
  return digest ? { input: digest(input), output: digest(output) } : {};
}

function branchesStructure(branches: BranchesPlan): BranchesStructure {
  const { kind } = branches;
  if (kind === "each") return { kind, node: branches.node, keyed: branches.key !== undefined };
  const sorted = [...branches.nodes].sort(([a], [b]) => compare(a, b));
  return { kind, nodes: sorted.map(([branch, node]) => ({ branch, node })) };
}

/** By code unit, which does not depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
