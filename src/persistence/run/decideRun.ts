import type { ResumeOptions, RunOptions } from "../../agent/feature/RunRequest.ts";

/** What a log says about an agent, as far as beginning a run depends on it. */
export interface RunFacts {
  /** The run that has not ended. */
  readonly unfinished?: {
    readonly runId: string;
    readonly sameInput: boolean;
    /** True while it waits and nobody has answered: it cannot go on. */
    readonly waits: boolean;
  };
  /** How the run that was asked for by its id ended; absent: it has not, or none was asked for. */
  readonly asked?: "completed" | "cancelled";
  /** How the last run ended; absent: it has not, or there was none. */
  readonly last?: { readonly runId: string; readonly status: "completed" | "cancelled" };
}

/** What a call of `run` or `resume` comes to. */
export type RunDecision =
  | { readonly kind: "recorded"; readonly runId: string }
  | { readonly kind: "resume" }
  | { readonly kind: "waiting"; readonly runId: string }
  | { readonly kind: "branch"; readonly checkpointId: string }
  | { readonly kind: "new"; readonly keep: "history" | "nothing" }
  | { readonly kind: "finish_first" | "abandon"; readonly keep: "history" | "nothing" }
  | { readonly kind: "refuse_unfinished"; readonly runId: string }
  | { readonly kind: "refuse_cancelled"; readonly runId: string }
  | { readonly kind: "refuse_nothing" };

/** Decides a `run`. */
export function decideRun(options: RunOptions, { unfinished, asked }: RunFacts): RunDecision {
  const keep = options.history === "continue" ? "history" : "nothing";
  if (asked !== undefined && options.runId !== undefined) {
    return { kind: asked === "completed" ? "recorded" : "refuse_cancelled", runId: options.runId };
  }
  if (!unfinished) return { kind: "new", keep };
  const same = options.runId === undefined ? unfinished.sameInput : options.runId === unfinished.runId;
  if (same) return goOn(unfinished);
  return options.unfinished === undefined || (options.unfinished === "finish_first" && unfinished.waits)
    ? { kind: "refuse_unfinished", runId: unfinished.runId }
    : { kind: options.unfinished, keep };
}

/** Decides a `resume`. */
export function decideResume(options: ResumeOptions, { unfinished, last }: RunFacts): RunDecision {
  if (options.checkpointId !== undefined) return { kind: "branch", checkpointId: options.checkpointId };
  if (unfinished) return goOn(unfinished);
  if (!last) return { kind: "refuse_nothing" };
  return { kind: last.status === "completed" ? "recorded" : "refuse_cancelled", runId: last.runId };
}

function goOn({ runId, waits }: NonNullable<RunFacts["unfinished"]>): RunDecision {
  return waits ? { kind: "waiting", runId } : { kind: "resume" };
}
