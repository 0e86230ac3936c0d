import { quoted } from "../../errors/quoted.ts";
import { RunInputDiffersError, RunNotOpenError, UnfinishedRunError } from "../../errors/runErrors.ts";
import type { RunDecision } from "./decideRun.ts";

export function refusedRun(decision: RunDecision, agentId: string): Error {
  const runId = "runId" in decision ? decision.runId : "";
  if (decision.kind === "refuse_unfinished") return new UnfinishedRunError(agentId, runId, decision.waits);
  if (decision.kind === "refuse_input") return new RunInputDiffersError(agentId, runId);
  const isCancelled = decision.kind === "refuse_cancelled";
  const reason = isCancelled
    ? `run ${quoted(runId)} was canceled, and its runId cannot be used again`
    : "nothing is stored for it";
  return new RunNotOpenError("nothing_to_resume", agentId, reason);
}
