import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** The strategy has no node with this name, or several. */
export class UnknownNodeError extends AgentPersistenceError {
  override readonly code = "unknown_node";

  constructor(
    /** The requested name or path. */
    readonly nodeId: string,
    /** The usable paths. Contains all nodes, or the nodes that share an ambiguous name. */
    readonly nodes: readonly string[],
    /** Whether several nodes have this name. */
    readonly ambiguous = false,
    /** The parallel node whose branch contains the node, if no such branch is running. */
    closed?: string,
  ) {
    super(problemOf({ nodeId, nodes, ambiguous, closed }));
  }
}

function problemOf({
  nodeId,
  nodes,
  ambiguous,
  closed,
}: Pick<UnknownNodeError, "nodeId" | "nodes" | "ambiguous"> & { readonly closed: string | undefined }): string {
  if (closed !== undefined)
    return `Node "${nodeId}" belongs to a branch of "${closed}", but that branch is not running. Move to "${closed}" instead.`;
  if (ambiguous)
    return `Several nodes are named ${quoted(nodeId)}. Use the full path of one of them: ${quotedList(nodes)}.`;
  return `The strategy has no node ${quoted(nodeId)}. Use one of its nodes: ${quotedList(nodes)}.`;
}
