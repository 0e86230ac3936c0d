import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A node finished and none of its edges took its output. */
export class NoMatchingEdgeError extends AgentPersistenceError {
  override readonly code = "no_matching_edge";
  /** The path of the node, or "start". */
  readonly nodeId: string;
  /** Where its edges lead, in the order they were tried. */
  readonly edges: readonly string[];

  constructor(nodeId: string, edges: readonly string[]) {
    const found =
      edges.length === 0
        ? "it has no edges"
        : `no condition held on its edges to ${edges.map((to) => `"${to}"`).join(", ")}`;
    super(
      `The run cannot go on after "${nodeId}": ${found}. Add an edge for this output, without a condition if it shall take the rest.`,
    );
    this.nodeId = nodeId;
    this.edges = edges;
  }
}
