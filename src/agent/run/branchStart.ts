import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { RunStart } from "../feature/RunRequest.ts";
import type { RunStateSeed } from "../state/RunState.ts";
import type { ParallelPlan } from "../strategy/GraphPlan.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { ActiveLine } from "./ActiveLine.ts";
import type { PlannedBranch } from "./plannedBranches.ts";

/**
 * Returns the start position of a branch without a stored one. @throws InvalidInputError if its schema rejects the
 * input
 */
export function branchStart(
  line: ActiveLine,
  { history }: ParallelPlan,
  { root, input }: Pick<PlannedBranch, "root" | "input">,
): RunStart {
  const { agentId, runId, generation, run, state, graph } = line;
  const { messages, ...others } = state.seed;
  const lane = run.nextLane++;
  const seed: RunStateSeed = history === "fresh" || !messages ? others : { ...others, messages };
  return {
    ...beginningOf(graph, root, input),
    state: seed,
    line: { agentId, runId, lane },
    generation,
    visitBase: -lane,
    visitOrdinal: 0,
    runId,
  };
}

function beginningOf(graph: StrategyGraph, root: string, input: unknown): Pick<RunStart, "nodeId" | "input"> {
  const around = root.split("/");
  const name = around.pop() ?? "";
  const node = graph.graphAt(around).nodes.get(name);
  if (node?.kind !== "subgraph") return { nodeId: root, input };
  return { nodeId: `${root}/start`, input: checkSchema(node.graph.input, input, `input of subgraph "${root}"`) };
}
