import { UnknownNodeError } from "../../errors/agent/UnknownNodeError.ts";
import { type GraphPlan, type LeafPlan, planOf } from "./GraphPlan.ts";
import { structureOf, type GraphStructure } from "./GraphStructure.ts";
import type { Node, Strategy } from "./Strategy.ts";

/** A compiled strategy: its nodes by path. Immutable and shared by all runs. */
export class StrategyGraph {
  /** The name of the strategy, for people. */
  readonly name: string;
  readonly root: GraphPlan;
  /** The paths of all nodes with a body, such as "facts/count", sorted. */
  readonly nodePaths: readonly string[];
  readonly structure: GraphStructure;
  readonly #leaves: ReadonlyMap<string, LeafPlan>;

  constructor(strategy: Strategy) {
    this.name = strategy.name;
    this.root = planOf(strategy);
    this.#leaves = new Map(leavesOf(this.root, ""));
    this.nodePaths = Object.freeze([...this.#leaves.keys()].sort());
    this.structure = structureOf(this.root);
  }

  /**
   * The path of a node, which is given as its path, as a name that only one node has, or as the result of `graph.node`.
   *
   * @throws UnknownNodeError if no node matches, or more than one.
   */
  resolve(node: string | Node): string {
    if (typeof node === "string" && this.#leaves.has(node)) return node;
    const found = this.nodePaths.filter((path) =>
      typeof node === "string" ? path.split("/").at(-1) === node : this.#leaves.get(path)?.handle === node,
    );
    const [only, ...others] = found;
    const asked = typeof node === "string" ? node : String(Object(node).name);
    if (only === undefined) throw new UnknownNodeError(asked, this.nodePaths);
    if (others.length > 0) throw new UnknownNodeError(asked, found, true);
    return only;
  }

  /** The node with this path. @throws UnknownNodeError */
  leaf(path: string): LeafPlan {
    const leaf = this.#leaves.get(path);
    if (!leaf) throw new UnknownNodeError(path, this.nodePaths);
    return leaf;
  }

  /** The graph of a subgraph by the names of its path. No names: the root. */
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

function* leavesOf(graph: GraphPlan, prefix: string): Generator<[string, LeafPlan]> {
  for (const [name, node] of graph.nodes) {
    if (node.kind === "leaf") yield [prefix + name, node];
    else yield* leavesOf(node.graph, `${prefix}${name}/`);
  }
}
