import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";

/** A node finished, but the conditions of its edges all reject its output. */
export class NoMatchingEdgeError extends AgentPersistenceError {
  override readonly code = "no_matching_edge";

  constructor(
    /** The path of the node, or "start". */
    readonly nodeId: string,
    /** The names of the target nodes of the edges, in the order they were tried. */
    readonly edges: readonly string[],
  ) {
    const found = edges.length === 0 ? "it has no edges" : `no condition matched on its edges to ${quotedList(edges)}`;
    super(
      `The run cannot continue after "${nodeId}": ${found}. Add an edge that matches this output, or an edge without a condition.`,
    );
  }
}
