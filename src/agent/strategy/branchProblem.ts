import type { GraphPlan, NodePlan } from "./GraphPlan.ts";

export function branchProblem(graph: Pick<GraphPlan, "nodes" | "edges">): string | undefined {
  return edgeOfBranch(graph) ?? nameOfPath(graph);
}

export function branchNodes({ branches }: Extract<NodePlan, { kind: "parallel" }>): readonly string[] {
  return branches.kind === "each" ? [branches.node] : [...branches.nodes.values()];
}

function edgeOfBranch({ nodes, edges }: Pick<GraphPlan, "nodes" | "edges">): string | undefined {
  const owners = new Map<string, string>();
  for (const [name, node] of nodes)
    if (node.kind === "parallel") for (const branch of branchNodes(node)) owners.set(branch, name);
  for (const [from, list] of edges) {
    for (const { to } of list) {
      const branch = [from, to].find((name) => owners.has(name));
      if (branch === undefined) continue;
      const owner = owners.get(branch) ?? "";
      return `an edge leads from "${from}" to "${to}", but "${branch}" is a branch of "${owner}", and a branch has no edges. Let the edge lead ${branch === from ? "from" : "to"} "${owner}". If the branch needs several nodes, make it a subgraph.`;
    }
  }
  return undefined;
}

/**
 * The path of a branch, such as "both#facts", contains the names of its parallel node and of the enclosing subgraphs.
 * These names must not contain "#". In graphs without branches, "#" stays allowed, because existing strategies with
 * stored runs use it.
 */
function nameOfPath({ nodes }: Pick<GraphPlan, "nodes">): string | undefined {
  if (![...nodes.values()].some(hasParallel)) return undefined;
  const wrong = [...nodes.keys()].find((name) => name.includes("#"));
  if (wrong === undefined) return undefined;
  return `"${wrong}" contains "#", which separates a parallel node from its branch. Give the node a name without "#": this graph has parallel nodes.`;
}

function hasParallel(node: NodePlan): boolean {
  if (node.kind === "subgraph") return [...node.graph.nodes.values()].some(hasParallel);
  return node.kind === "parallel";
}
