import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A graph has two nodes of one name. */
export class DuplicateNodeError extends AgentPersistenceError {
  override readonly code = "duplicate_node";
  /** The strategy or subgraph. */
  readonly graph: string;
  readonly nodeName: string;

  constructor(graph: string, nodeName: string) {
    super(
      `The graph "${graph}" already has a node "${nodeName}". Names are unique within a graph: give this node another one.`,
    );
    this.graph = graph;
    this.nodeName = nodeName;
  }
}
