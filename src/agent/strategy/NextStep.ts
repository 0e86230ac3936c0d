/** Where a run goes after a node. */
export interface NextStep {
  /** A node path, or "finish" at the end of the strategy. */
  readonly nodeId: string;
  /** What the node is about to get; at the end, the output of the strategy. */
  readonly input: unknown;
  /** Paths of the subgraphs entered on the way, in order. */
  readonly entered: readonly string[];
  /** Paths of the subgraphs left on the way, in order. */
  readonly left: readonly string[];
  /** Both together, with what went in or came out, in order. */
  readonly crossings: readonly Crossing[];
}

/** The border of a subgraph, crossed. */
export interface Crossing {
  readonly kind: "entered" | "left";
  /** The path of the subgraph. */
  readonly path: string;
  /** Its input or its output. */
  readonly value: unknown;
}
