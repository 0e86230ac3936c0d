import { BranchesChangedError } from "../../errors/runErrors.ts";
import { ToolCallInDoubtError } from "../../errors/toolCallErrors.ts";
import { nextVisitOf } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { leavesEffect } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { toolCallInDoubt } from "../settle/callsInDoubt.ts";
import type { FittedLine } from "./lineVerdicts.ts";
import { type LinePlan, migratedLine } from "./migratedLine.ts";

/** The migration of a line. `standing` lists the calls of an abandoned visit whose effects remain. */
export interface LineMigration extends LinePlan {
  readonly standing: readonly string[];
}

/**
 * Runs the migrations of all lines that need them. A line that is nested in a restarted visit ends.
 *
 * @param lines Each line follows the line that contains it.
 * @param signal If it aborts, this function stops waiting for the migration.
 * @throws MigrationFailedError if a migration throws. The reason of the signal if the signal aborts.
 * @throws InvalidInputError, UnknownNodeError, UnknownToolError, BranchesChangedError if the current code does not
 * accept the result.
 * @throws ToolCallInDoubtError if the schemas of an interrupted node changed and one of its calls is in doubt.
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

function leftCalls({ state }: FittedLine, { index, blobs, agentId }: AgentLog): readonly string[] {
  const [base] = nextVisitOf(state);
  const isLeft = ({ lane, visit }: LoggedCall) =>
    lane === state.lane ? visit[0] === base : isNestedIn(index, lane, state.lane);
  const left = loggedCalls(index, blobs).filter((call) => isLeft(call) && index.counts(call));
  const inDoubt = left.find(({ effect, outcome }) => effect !== "none" && (!outcome || outcome.retry));
  if (inDoubt) throw new ToolCallInDoubtError(toolCallInDoubt(agentId, inDoubt));
  return left.filter(leavesEffect).map(({ call }) => call);
}

function isNestedIn(index: LogProjection, lane: number, around: number): boolean {
  return index.lines.isOpen(lane) && [...index.lines.around(lane)].some(({ place }) => place.parent === around);
}
