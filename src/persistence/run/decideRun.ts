import type { ResumeOptions, RunOptions } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { RunInputDiffersError, RunNotOpenError, UnfinishedRunError } from "../../errors/runErrors.ts";
import type { StoredState } from "../starting/startRecorder.ts";
import { pendingRequests } from "../waiting/pendingRequests.ts";

export type InputMatch = "same" | "other" | "unknown";

interface UnfinishedRun {
  readonly runId: string;
  readonly input: InputMatch;
  /** True if the run waits and no request is answered, so that it cannot continue. */
  readonly waits: boolean;
}

export interface RunFacts {
  readonly unfinished?: UnfinishedRun;
  readonly asked?: "completed" | "cancelled";
  readonly replaces?: boolean;
  readonly last?: { readonly runId: string; readonly status: "completed" | "cancelled" };
}

export type RunDecision =
  | { readonly kind: "resume" | "refuse_nothing" }
  | {
      readonly kind: "recorded" | "waiting" | "refuse_cancelled" | "refuse_input";
      readonly runId: string;
    }
  | { readonly kind: "refuse_unfinished"; readonly runId: string; readonly waits: boolean }
  | { readonly kind: "branch"; readonly checkpointId: string }
  | { readonly kind: "new" | "finish_first" | "abandon"; readonly keep: "history" | "nothing" };

export function decideRun(options: RunOptions, { unfinished, asked, replaces }: RunFacts): RunDecision {
  if (asked !== undefined && options.runId !== undefined) {
    return { kind: asked === "completed" ? "recorded" : "refuse_cancelled", runId: options.runId };
  }
  const keep = options.history === "continue" ? "history" : "nothing";
  if (unfinished && replaces && options.runId !== unfinished.runId) return { kind: "abandon", keep };
  return unfinished ? besideUnfinished(options, unfinished, keep) : { kind: "new", keep };
}

function besideUnfinished(
  { runId: asked, unfinished: choice }: RunOptions,
  unfinished: UnfinishedRun,
  keep: "history" | "nothing",
): RunDecision {
  const { runId, input, waits } = unfinished;
  if (asked === runId && input === "other") return { kind: "refuse_input", runId };
  if (asked === undefined ? input === "same" : asked === runId) return continued(unfinished);
  if (choice === undefined || (choice === "finish_first" && waits)) return { kind: "refuse_unfinished", runId, waits };
  return { kind: choice, keep };
}

export function decideResume(options: ResumeOptions, { unfinished, last }: RunFacts): RunDecision {
  if (options.checkpointId !== undefined) return { kind: "branch", checkpointId: options.checkpointId };
  if (unfinished) return continued(unfinished);
  if (!last) return { kind: "refuse_nothing" };
  return { kind: last.status === "completed" ? "recorded" : "refuse_cancelled", runId: last.runId };
}

function continued({ runId, waits }: UnfinishedRun): RunDecision {
  return waits ? { kind: "waiting", runId } : { kind: "resume" };
}

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

export function comparedInput(stored: StoredState | undefined, run: RunRecord | undefined, input: unknown): InputMatch {
  if (!stored || !run || run.assumed) return "unknown";
  return isSameValue(stored.log.readValue(run.input), input) ? "same" : "other";
}

export function waitingResult(runId: string, stored: StoredState | undefined): RunResult<unknown> {
  const usage = stored?.log.index.usageOf(runId);
  return { status: "waiting", runId, ...(usage && { usage }), requests: stored ? pendingRequests(stored) : [] };
}
