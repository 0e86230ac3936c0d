import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";

/** A node has finished and none of its edges accepts its output. */
export class NoMatchingEdgeError extends AgentPersistenceError {
  override readonly code = "no_matching_edge";

  constructor(
    /** The path of the node, or "start". */
    readonly nodeId: string,
    /** The names of the nodes that its edges lead to, in the order in which they were tried. */
    readonly edges: readonly string[],
  ) {
    const found = edges.length === 0 ? "it has no edges" : `no condition matched on its edges to ${quotedList(edges)}`;
    super(
      `The run cannot continue after "${nodeId}": ${found}. Add an edge for this output, or an edge without a condition for every other output.`,
    );
  }
}
