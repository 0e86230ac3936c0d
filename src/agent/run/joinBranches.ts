import type { BranchResult } from "../feature/BranchResult.ts";
import type { LeafPlan, ParallelPlan } from "../strategy/GraphPlan.ts";
import type { NextStep } from "../strategy/NextStep.ts";
import type { Wait } from "../visit/NodeExecution.ts";
import type { ActiveLine } from "./ActiveLine.ts";
import { addUp } from "./addUp.ts";
import { BranchGroup } from "./BranchGroup.ts";
import { mergeBody } from "./mergeBody.ts";
import { plannedBranches } from "./plannedBranches.ts";

/**
 * Runs the branches of a node concurrently. Resolves to the body that merges their results, or to the open requests if
 * all branches wait. Resolves to `undefined` if the line moved.
 *
 * @throws the error of the first failed branch, after the others have settled.
 */
export async function joinBranches(
  line: ActiveLine,
  step: NextStep,
  plan: ParallelPlan,
): Promise<Pick<LeafPlan, "run"> | Wait | undefined> {
  const joined = line.takeJoined() ?? (await startBranches(line, step, plan));
  if (!joined || "waiting" in joined) return joined;
  return { run: mergeBody(line.state, { nodeId: step.nodeId, plan, joined }) };
}

async function startBranches(
  line: ActiveLine,
  { nodeId, input }: NextStep,
  plan: ParallelPlan,
): Promise<ReadonlyMap<string, BranchResult> | Wait | undefined> {
  const branches = plannedBranches(line.graph, nodeId, input);
  await line.pipeline.emit("forkStarting", { run: line, nodeId, input, keys: branches.map(({ key }) => key) });
  const ended = await new BranchGroup(line, nodeId, plan, branches).run();
  if (!ended || "waiting" in ended) return ended;
  addUp(line.state, ended.values());
  await line.pipeline.emit("branchesJoined", { run: line, nodeId, input, results: ended });
  return ended;
}
