import type { BranchEffects } from "../../agent/feature/RunResult.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { revertibleCall } from "../rollback/RollbackReport.ts";

export function branchEffects(
  log: AgentLog,
  target: CheckpointPoint,
  hasInverse: (call: LoggedCall) => boolean,
): BranchEffects {
  const calls = loggedCalls(log.index, log.blobs);
  const { revert, irreversible, inDoubt } = planRollback(log.index, calls, { target }, hasInverse);
  const line = foldTo(log.index, target)?.calls;
  const missing = calls.filter(
    ({ call, owner }) => owner === undefined && line?.has(call) && log.index.reverted.has(call),
  );
  return {
    remaining: [...revert, ...irreversible, ...inDoubt].map(revertibleCall),
    missing: missing.map(revertibleCall),
  };
}
