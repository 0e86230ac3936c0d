/** The names of the subgraphs that a node is in, outermost first: each counts as a sub-agent. Empty: in none. */
export function agentPath(nodeId: string): readonly string[] {
  return nodeId.split("/").slice(0, -1);
}
