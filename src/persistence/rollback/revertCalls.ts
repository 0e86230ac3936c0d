import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import { RollbackIncompleteError } from "../../errors/checkpoint/RollbackIncompleteError.ts";
import { ToolCallInDoubtError } from "../../errors/toolCall/ToolCallInDoubtError.ts";
import { inverseIdOf } from "../inverse/inverseIdOf.ts";
import { revertCall } from "./revertCall.ts";
import type { RevertOptions } from "./RevertOptions.ts";
import { revertibleCall } from "./RollbackReport.ts";

/** What became of the calls of a plan. */
export interface RevertedCalls {
  readonly reverted: readonly RevertibleCall[];
  readonly failed: readonly (RevertibleCall & { readonly error: unknown })[];
}

/**
 * Takes back the calls of a plan one after the other, newest first, each recorded before its inverse begins and after it
 * ended.
 *
 * @throws RollbackIncompleteError when one cannot be taken back; the rollback stays open.
 */
export async function revertCalls(options: RevertOptions): Promise<RevertedCalls> {
  const { journal, plan, target } = options;
  const { agentId } = journal;
  await begin(options);
  const reverted = plan.reverted.map(revertibleCall);
  const failed = plan.inDoubt.map((call) => ({
    ...revertibleCall(call),
    error: new ToolCallInDoubtError({
      agentId,
      toolName: call.tool,
      toolCallId: call.call,
      nodeId: call.node,
    }) as unknown,
  }));
  for (const [at, call] of plan.revert.entries()) {
    const end = await revertCall(call, options);
    if (end.kind === "reverted") {
      reverted.push(revertibleCall(end.call));
      continue;
    }
    failed.push({ ...revertibleCall(call), error: end.error });
    if (end.kind === "left") continue;
    const unsettled = failed.map((one) => ({ ...one, inverseId: inverseIdOf(one.toolCallId, journal) }));
    const remaining = plan.revert.slice(at + 1).map(revertibleCall);
    throw new RollbackIncompleteError(agentId, target.id, reverted, unsettled, remaining);
  }
  return { reverted, failed };
}

/** The plan is durable before anything is undone. A rollback that goes on keeps what it has taken back before. */
async function begin({ journal, index, plan, participants, target }: RevertOptions): Promise<void> {
  const before = index.rollback?.calls ?? [];
  const calls = new Set([...before, ...plan.revert.map(({ call }) => call)]);
  const planned = participants.length > 0 && { participants };
  journal.append([{ kind: "rollback", target: target.version, calls: [...calls], closed: plan.closed, ...planned }]);
  await journal.durable();
}
