import type { EdgeStructure, GraphStructure, NodeStructure } from "../../agent/strategy/GraphStructure.ts";

export interface LinePoint {
  readonly node: string;
  /** The started branches of a parallel node, which continue on their own. `"all"` if no other branch will start. */
  readonly begun?: ReadonlySet<string> | "all" | undefined;
}

/** The parts of a strategy that a run, branch or sub-agent can still reach. */
export class Reached {
  /** The paths of the nodes and subgraphs that can start. */
  readonly nodes = new Set<string>();
  /** The paths of the subgraphs that can finish or contain such nodes. */
  readonly around = new Set<string>();
  /** The paths whose edges can be followed, with "start" for the start of a graph. */
  readonly sources = new Set<string>();
  readonly #root: GraphStructure;
  readonly #point: LinePoint;
  readonly #pending: (() => void)[] = [];

  constructor(root: GraphStructure, point: LinePoint) {
    this.#root = root;
    this.#point = point;
    if (point.node === "start") this.#source("start");
    else this.#node(point.node);
    for (const next of this.#pending) next();
  }

  #node(path: string): void {
    if (this.nodes.has(path)) return;
    this.nodes.add(path);
    this.#pending.push(() => this.#begin(path));
  }

  #source(path: string): void {
    if (this.sources.has(path)) return;
    this.sources.add(path);
    this.#pending.push(() => this.#follow(path));
  }

  #begin(path: string): void {
    const { graph, name, prefix } = this.#graphAround(path);
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) this.around.add(path.slice(0, at));
    const node = graph?.nodes.find((each) => each.name === name);
    if (node?.graph) return this.#source(`${path}/start`);
    for (const branch of this.#branches(node, path)) this.#node(prefix + branch);
    this.#source(path);
  }

  #branches(node: NodeStructure | undefined, path: string): readonly string[] {
    const { branches } = node?.parallel ?? {};
    const begun = (path === this.#point.node && this.#point.begun) || new Set();
    if (!branches || begun === "all") return [];
    if (branches.kind === "each") return [branches.node];
    return branches.nodes.filter(({ branch }) => !begun.has(branch)).map((each) => each.node);
  }

  #follow(path: string): void {
    const { graph, name, prefix } = this.#graphAround(path);
    for (const { from, to } of graph?.edges ?? ([] as readonly EdgeStructure[])) {
      if (from !== name) continue;
      if (to !== "finish") this.#node(prefix + to);
      else if (prefix !== "") {
        const subgraph = prefix.slice(0, -1);
        this.around.add(subgraph);
        this.#source(subgraph);
      }
    }
  }

  #graphAround(path: string): {
    readonly graph: GraphStructure | undefined;
    readonly name: string;
    readonly prefix: string;
  } {
    const names = path.split("/");
    const name = names.pop() ?? "";
    let graph: GraphStructure | undefined = this.#root;
    for (const each of names) graph = graph?.nodes.find((node) => node.name === each)?.graph;
    return { graph, name, prefix: path.slice(0, path.length - name.length) };
  }
}
