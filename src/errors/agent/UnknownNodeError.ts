import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** The strategy has no node of this name, or several. */
export class UnknownNodeError extends AgentPersistenceError {
  override readonly code = "unknown_node";

  constructor(
    /** The name or path that was given. */
    readonly nodeId: string,
    /** The paths that you can use: those of all nodes, or of the nodes that share an ambiguous name. */
    readonly nodes: readonly string[],
    /** Whether several nodes have this name. */
    readonly ambiguous = false,
    /** The parallel node that has the node in a branch, none of which runs. */
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
    return `Node "${nodeId}" belongs to a branch of "${closed}", and no such branch is running. Move to "${closed}".`;
  if (ambiguous)
    return `Several nodes are named ${quoted(nodeId)}. Use the full path of one of them: ${quotedList(nodes)}.`;
  return `The strategy has no node ${quoted(nodeId)}. Use one of its nodes: ${quotedList(nodes)}.`;
}
