import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { UnknownNodeError } from "../../errors/strategyErrors.ts";
import { quotedList } from "../../errors/quoted.ts";

/**
 * Returns the lane of the open line that may visit a node.
 *
 * @throws UnknownNodeError if no open line visits the node. InvalidInputError if several do.
 */
export function laneForNode(index: LogProjection, graph: StrategyGraph, node: string): number {
  const root = graph.lineOf(node);
  const { lines } = index;
  if (root === "") return lines.mainLane;
  const open = lines.openLanes.filter((lane) => !index.latestOf(lane)?.record.ended);
  const roots = new Map(open.map((lane) => [lane, rootOf(index, graph, lane)]));
  const [only, ...others] = open.filter((lane) => roots.get(lane) === root);
  if (only === undefined) {
    const visited = new Set(roots.values());
    throw new UnknownNodeError(
      node,
      graph.nodePaths.filter((path) => visited.has(graph.lineOf(path))),
      false,
      parallelOf(graph, root),
    );
  }
  if (others.length === 0) return only;
  const branches = [only, ...others].map((lane) => linePath(index, lane).branch ?? "");
  const expected = `the node is in the open branches ${quotedList(branches)}. Set the point within one of these branches`;
  throw new InvalidInputError("execution point", [{ path: "nodeId", expected }]);
}

function parallelOf(graph: StrategyGraph, branch: string): string | undefined {
  return graph.nodePaths.find((path) => {
    if (graph.node(path).kind !== "parallel") return false;
    const branches = graph.branchesOf(path);
    return branches.kind === "each" ? branches.node === branch : [...branches.nodes.values()].includes(branch);
  });
}

/**
 * Returns the path of the node whose contents the line of a lane visits. Empty for the line of the agent itself.
 * `undefined` if the strategy has no such node.
 */
export function rootOf(index: LogProjection, graph: StrategyGraph, lane: number): string | undefined {
  const place = index.lines.nestedLine(lane)?.place;
  if (!place || "call" in place) return "";
  const forked = "fork" in place ? index.checkpoints.get(place.fork)?.record.node : undefined;
  if (forked === undefined || !("branch" in place) || !graph.nodePaths.includes(forked)) return undefined;
  if (graph.node(forked).kind !== "parallel") return undefined;
  const branches = graph.branchesOf(forked);
  return branches.kind === "each" ? branches.node : branches.nodes.get(place.branch);
}
