import { z } from "zod";
import { UnknownNodeError } from "../../errors/strategyErrors.ts";
import {
  type BranchesPlan,
  type GraphPlan,
  type LeafPlan,
  type ParallelPlan,
  planOf,
  type NodePlan,
  branchNodes,
} from "./GraphPlan.ts";
import { structureOf, type GraphStructure } from "./GraphStructure.ts";
import type { Node, Strategy } from "./Strategy.ts";

/** A compiled strategy with its nodes by path. It is immutable, and all runs share it. */
export class StrategyGraph {
  /** A label for people. */
  readonly name: string;
  readonly version: number;
  readonly root: GraphPlan;
  /** The sorted paths of all nodes except subgraphs, such as "facts/count". */
  readonly nodePaths: readonly string[];
  readonly structure: GraphStructure;
  readonly #nodes: ReadonlyMap<string, LeafPlan | ParallelPlan>;
  readonly #branchNodes: ReadonlySet<string>;

  constructor(strategy: Strategy) {
    this.name = strategy.name;
    this.version = strategy.version;
    this.root = planOf(strategy);
    this.#nodes = new Map(nodesOf(this.root, ""));
    this.nodePaths = Object.freeze([...this.#nodes.keys()].sort());
    this.structure = structureOf(this.root);
    const parallel = [...this.#nodes].filter(([, { kind }]) => kind === "parallel");
    this.#branchNodes = new Set(parallel.flatMap(([path]) => branchNodes({ branches: this.branchesOf(path) })));
  }

  /**
   * Returns the path of a node.
   *
   * @param node The path of the node, its name if no other node has the name, or the result of `graph.node`,
   * `graph.parallel` or `graph.each`.
   * @throws UnknownNodeError if no node or several nodes match.
   */
  resolve(node: string | Node): string {
    if (typeof node === "string" && this.#nodes.has(node)) return node;
    const found = this.nodePaths.filter((path) =>
      typeof node === "string" ? path.split("/").at(-1) === node : this.#nodes.get(path)?.handle === node,
    );
    const [only, ...others] = found;
    const asked = typeof node === "string" ? node : String(Object(node).name);
    if (only === undefined) throw new UnknownNodeError(asked, this.nodePaths);
    if (others.length > 0) throw new UnknownNodeError(asked, found, true);
    return only;
  }

  /** Returns the node with this path. @throws UnknownNodeError */
  node(path: string): LeafPlan | ParallelPlan {
    const node = this.#nodes.get(path);
    if (!node) throw new UnknownNodeError(path, this.nodePaths);
    return node;
  }

  /** Returns the node with this path if it runs code. @throws UnknownNodeError for subgraphs and parallel nodes */
  leaf(path: string): LeafPlan {
    const node = this.node(path);
    if (node.kind !== "leaf") throw new UnknownNodeError(path, this.nodePaths);
    return node;
  }

  /** Returns the input schema of a node, or `undefined` if any value is accepted. @throws UnknownNodeError */
  inputSchemaOf(path: string): z.core.$ZodType | undefined {
    return inputSchema(this.graphAt(path.split("/").slice(0, -1)), this.node(path));
  }

  /** Returns the branches of a parallel node by node path. @throws UnknownNodeError if the node is not parallel. */
  branchesOf(path: string): BranchesPlan {
    const node = this.node(path);
    if (node.kind !== "parallel") throw new UnknownNodeError(path, this.nodePaths);
    const prefix = path.slice(0, path.lastIndexOf("/") + 1);
    const { branches } = node;
    if (branches.kind === "each") return { ...branches, node: prefix + branches.node };
    return { kind: "named", nodes: new Map([...branches.nodes].map(([branch, name]) => [branch, prefix + name])) };
  }

  /** Returns the path of the innermost branch node that contains a path, or "" outside branches. */
  lineOf(path: string): string {
    const within = [...this.#branchNodes].filter((root) => path === root || path.startsWith(`${root}/`));
    return within.toSorted((a, b) => b.length - a.length)[0] ?? "";
  }

  graphAt(names: readonly string[]): GraphPlan {
    let graph = this.root;
    for (const name of names) {
      const node = graph.nodes.get(name);
      if (node?.kind !== "subgraph") throw new UnknownNodeError(names.join("/"), this.nodePaths);
      graph = node.graph;
    }
    return graph;
  }
}

function* nodesOf(graph: GraphPlan, prefix: string): Generator<[string, LeafPlan | ParallelPlan]> {
  for (const [name, node] of graph.nodes) {
    if (node.kind === "subgraph") yield* nodesOf(node.graph, `${prefix}${name}/`);
    else yield [prefix + name, node];
  }
}

/** Returns the input schema of a node. The schema of a parallel node accepts only values for all its branches. */
function inputSchema(graph: GraphPlan, node: NodePlan): z.core.$ZodType | undefined {
  if (node.kind === "leaf") return node.input;
  if (node.kind === "subgraph") return node.graph.input;
  const schemas = branchNodes(node).flatMap((name) => {
    const branch = graph.nodes.get(name);
    return (branch && inputSchema(graph, branch)) ?? [];
  });
  if (node.branches.kind === "each") return z.array(schemas[0] ?? z.unknown());
  return schemas.length === 0 ? undefined : acceptedByAll(schemas);
}

/** Returns a schema that validates with all schemas. An intersection would merge results and fail for transforms. */
function acceptedByAll(schemas: readonly z.core.$ZodType[]): z.ZodType {
  return z.unknown().superRefine(async (value, refused) => {
    for (const schema of schemas) {
      const { error } = await z.safeParseAsync(schema, value);
      for (const { path, message } of error?.issues ?? []) refused.addIssue({ code: "custom", path, message });
    }
  });
}

export interface NextStep {
  /** A node path, or "finish" at the end of the strategy. */
  readonly nodeId: string;
  /** The input of the node. At the end, the output of the strategy. */
  readonly input: unknown;
  /** Paths of the entered subgraphs, in order. */
  readonly entered: readonly string[];
  /** Paths of the subgraphs that the run leaves, in order. */
  readonly left: readonly string[];
  /** All entered and left subgraphs with their values, in order. */
  readonly crossings: readonly Crossing[];
}

/** A subgraph that the run enters or leaves. */
export interface Crossing {
  readonly kind: "entered" | "left";
  readonly path: string;
  /** The input of the subgraph that the run enters, or the output of the one that it leaves. */
  readonly value: unknown;
}
