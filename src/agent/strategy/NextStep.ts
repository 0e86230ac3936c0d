/** The next step of a run after a node. */
export interface NextStep {
  /** A node path, or "finish" at the end of the strategy. */
  readonly nodeId: string;
  /** The input of the node. At the end, the output of the strategy. */
  readonly input: unknown;
  /** Paths of the entered subgraphs, in order. */
  readonly entered: readonly string[];
  /** Paths of the left subgraphs, in order. */
  readonly left: readonly string[];
  /** All entered and left subgraphs with their values, in order. */
  readonly crossings: readonly Crossing[];
}

/** A subgraph that the run enters or leaves. */
export interface Crossing {
  readonly kind: "entered" | "left";
  readonly path: string;
  /** The input of an entered subgraph, or the output of a left one. */
  readonly value: unknown;
}
