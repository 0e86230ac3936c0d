import type { z } from "zod";
import type { BranchesPlan, BranchFailure, BranchHistory, GraphPlan, NodePlan } from "./GraphPlan.ts";

/** The structure of a graph as plain JSON, to compare versions of a strategy. Its digest is the fingerprint. */
export interface GraphStructure {
  /** Sorted by name. */
  readonly nodes: readonly NodeStructure[];
  /** Sorted by their first node, then by the order in which a run tries them. */
  readonly edges: readonly EdgeStructure[];
  /** The digest of the schema. Empty if any value is accepted. `undefined` if the description omits schemas. */
  readonly input?: string;
  readonly output?: string;
}

/** A node, a subgraph with its content, or a parallel node with its branches. */
export interface NodeStructure {
  readonly name: string;
  readonly graph?: GraphStructure;
  readonly parallel?: ParallelStructure;
  /** The digest of the schema of a node. Empty without a schema. `undefined` if the description omits schemas. */
  readonly input?: string;
  readonly output?: string;
}

/** How a parallel node runs its branches, without its merge function. */
export interface ParallelStructure {
  readonly branches: BranchesStructure;
  readonly history: BranchHistory;
  readonly onFailure: BranchFailure;
}

export type BranchesStructure =
  | { readonly kind: "named"; readonly nodes: readonly { readonly branch: string; readonly node: string }[] }
  /** The node that runs for each item, and whether branches have a `key`. */
  | { readonly kind: "each"; readonly node: string; readonly keyed: boolean };

/** An edge without its functions for the condition and the mapping. */
export interface EdgeStructure {
  readonly from: string;
  readonly to: string;
  /** The index among the edges of `from`. */
  readonly ordinal: number;
  readonly conditional: boolean;
  readonly mapped: boolean;
}

export type SchemaDigest = (schema: z.core.$ZodType | undefined) => string;

/** Describes a graph. Declaration order affects only the edges. @param digest If omitted, schemas are omitted. */
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

/** Compares texts by code unit, independent of the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
