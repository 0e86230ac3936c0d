/** The next step of a run after a node. */
export interface NextStep {
  /** A node path, or "finish" at the end of the strategy. */
  readonly nodeId: string;
  /** The input of the node; at the end, the output of the strategy. */
  readonly input: unknown;
  /** Paths of the subgraphs entered on the way, in order. */
  readonly entered: readonly string[];
  /** Paths of the subgraphs left on the way, in order. */
  readonly left: readonly string[];
  /** Both together with their values, in order. */
  readonly crossings: readonly Crossing[];
}

/** A subgraph that the run enters or leaves. */
export interface Crossing {
  readonly kind: "entered" | "left";
  /** The path of the subgraph. */
  readonly path: string;
  /** Its input if entered, its output if left. */
  readonly value: unknown;
}
