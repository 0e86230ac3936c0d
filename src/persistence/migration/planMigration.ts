import { BranchesChangedError } from "../../errors/run/BranchesChangedError.ts";
import { ToolCallInDoubtError } from "../../errors/toolCall/ToolCallInDoubtError.ts";
import { nextVisitOf } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { leavesEffect } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { toolCallInDoubt } from "../doubt/callsInDoubt.ts";
import type { FittedLine } from "./lineVerdicts.ts";
import { type LinePlan, migratedLine } from "./migratedLine.ts";

/** A line that migrates, and the calls of a visit that it leaves whose effects stay. */
export interface LineMigration extends LinePlan {
  readonly standing: readonly string[];
}

/**
 * Takes every line that migrates through its migrations. A line that is nested in a visit which begins anew ends with it.
 *
 * @param lines each after the line that it is nested in.
 * @param signal ends the wait for a migration.
 * @throws MigrationFailedError for what a migration throws; the reason of the signal; InvalidInputError, UnknownNodeError,
 * UnknownToolError, BranchesChangedError for what the code now does not accept; ToolCallInDoubtError while a call of a visit
 * is in doubt whose node has other schemas
 */
export async function planMigration(
  lines: readonly FittedLine[],
  log: AgentLog,
  signal: AbortSignal,
): Promise<readonly LineMigration[]> {
  const plans = new Map<number, LineMigration>();
  const ended = new Set<number>();
  for (const line of lines) {
    const { lane } = line.state;
    const parent = log.index.lines.nestedLine(lane)?.place.parent;
    if (parent !== undefined && (ended.has(parent) || plans.get(parent)?.keepsVisit === false)) {
      ended.add(lane);
      continue;
    }
    if (line.verdict.kind !== "migrates") continue;
    const root = rootOf(line, log, plans);
    const plan = await migratedLine(line, line.verdict.chain, root, { log, signal });
    plans.set(lane, { ...plan, standing: plan.keepsVisit ? [] : leftCalls(line, log) });
  }
  return [...plans.values()];
}

/** The node that a line visits with all that is in it, in the code as it is now; "": the line is no branch. */
function rootOf(
  { state, setup }: FittedLine,
  { index, agentId }: AgentLog,
  plans: ReadonlyMap<number, LinePlan>,
): string {
  const place = index.lines.nestedLine(state.lane)?.place;
  if (!place || !("fork" in place)) return "";
  const { graph } = setup;
  const parent = plans.get(place.parent)?.next.nodeId ?? index.latestOf(place.parent)?.record.node ?? "";
  const branches = graph.branchesOf(parent);
  if (branches.kind === "each") return branches.node;
  const root = branches.nodes.get(place.branch);
  if (root === undefined) throw new BranchesChangedError(agentId, parent, [place.branch], [...branches.nodes.keys()]);
  return root;
}

/** @throws ToolCallInDoubtError when one of them may or may not have had its effect */
function leftCalls({ state }: FittedLine, { index, blobs, agentId }: AgentLog): readonly string[] {
  const [base] = nextVisitOf(state);
  const isLeft = ({ lane, visit }: LoggedCall) =>
    lane === state.lane ? visit[0] === base : isNestedIn(index, lane, state.lane);
  const left = loggedCalls(index, blobs).filter((call) => isLeft(call) && index.counts(call));
  const inDoubt = left.find(({ effect, outcome }) => effect !== "none" && (!outcome || outcome.retry === true));
  if (inDoubt) throw new ToolCallInDoubtError(toolCallInDoubt(agentId, inDoubt));
  return left.filter(leavesEffect).map(({ call }) => call);
}

function isNestedIn(index: LogProjection, lane: number, around: number): boolean {
  const parent = index.lines.isOpen(lane) ? index.lines.nestedLine(lane)?.place.parent : undefined;
  return parent !== undefined && (parent === around || isNestedIn(index, parent, around));
}
