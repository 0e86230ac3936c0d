import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type TokenPrices, tokenPricesSchema } from "../../timeline/options/TimelineOptions.ts";
import type { RunTrace } from "../trace/RunTrace.ts";
import { changedPart, compareSteps } from "./compareSteps.ts";
import type { RunComparison, ComparedStep } from "./RunComparison.ts";
import { runSummary } from "./runSummary.ts";
import { runTraceSchema } from "./runTraceSchema.ts";

/** Options of {@link compareRuns}. */
export interface CompareRunsOptions {
  /** Token prices, for the costs of both runs. Defaults to no costs. */
  readonly prices?: TokenPrices | undefined;
}

const schema = strictOptions(() => ({ prices: tokenPricesSchema.optional() }));

/**
 * Compares two runs: status, output, path of nodes, calls, messages, tokens, durations and costs. The runs can have
 * different agents and storages.
 *
 * @throws InvalidInputError if an argument is invalid.
 *
 * @example
 * ```ts
 * const before = await readRunTrace(storage, { agentId: "order-8", runId: "monday" });
 * const after = await readRunTrace(storage, { agentId: "order-8", runId: "tuesday" });
 * const { isSame, steps, firstDivergence } = compareRuns(before, after);
 * if (!isSame) console.log(steps[firstDivergence ?? 0]);
 * ```
 */
export function compareRuns(before: RunTrace, after: RunTrace, options: CompareRunsOptions = {}): RunComparison {
  checkSchema(runTraceSchema, before, "first run of compareRuns()");
  checkSchema(runTraceSchema, after, "second run of compareRuns()");
  checkSchema(schema, options, "options of compareRuns()");
  const steps = compareSteps(before.visits, after.visits);
  const firstDivergence = steps.findIndex(({ change }) => change !== "same");
  const status = changedPart(before.status, after.status);
  const output = changedPart(before.output, after.output);
  const error = changedPart(before.error, after.error);
  const isSame = firstDivergence === -1 && !status && !output && !error;
  const summaries = { before: runSummary(before, options.prices), after: runSummary(after, options.prices) };
  return withoutUndefined({
    isSame,
    ...summaries,
    input: changedPart(before.input, after.input),
    status,
    output,
    error,
    steps,
    firstDivergence: firstDivergence === -1 ? undefined : firstDivergence,
    calls: callCounts(steps, summaries.before.calls),
  });
}

function callCounts(steps: readonly ComparedStep[], before: number): RunComparison["calls"] {
  const differing = steps.flatMap(({ calls }) => calls);
  const count = (change: ComparedStep["change"]) => differing.filter((call) => call.change === change).length;
  const [changed, added, removed] = [count("changed"), count("added"), count("removed")];
  return { same: before - changed - removed, changed, added, removed };
}
