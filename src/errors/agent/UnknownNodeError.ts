import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A node that was named does not exist in the strategy, or is not the only one of that name. */
export class UnknownNodeError extends AgentPersistenceError {
  override readonly code = "unknown_node";
  readonly nodeId: string;
  /** What would have been right: all nodes, or, of an ambiguous name, those that have it. */
  readonly nodes: readonly string[];
  readonly ambiguous: boolean;

  constructor(nodeId: string, nodes: readonly string[], ambiguous = false) {
    const list = nodes.map((node) => `"${node}"`).join(", ");
    super(
      ambiguous
        ? `Several nodes are named "${nodeId}". Use the full path of one of them: ${list}.`
        : `The strategy has no node "${nodeId}". Its nodes are: ${list}.`,
    );
    this.nodeId = nodeId;
    this.nodes = nodes;
    this.ambiguous = ambiguous;
  }
}
