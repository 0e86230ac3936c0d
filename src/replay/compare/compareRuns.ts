import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type TokenPrices, tokenPricesSchema, costOf } from "../../timeline/options/TimelineOptions.ts";
import { type RunTrace, isJson } from "../trace/RunTrace.ts";
import { changedPart, compareSteps } from "./compareSteps.ts";
import type { RunComparison, ComparedStep, RunSummary } from "./RunComparison.ts";
import { addUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import type { UsageView } from "../../inspect/view/viewParts.ts";
import { z } from "zod";
import { maximumDepth } from "../../internal/frozenCopy.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";

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
  const input = changedPart(before.input, after.input);
  const status = changedPart(before.status, after.status);
  const output = changedPart(before.output, after.output);
  const error = changedPart(before.error, after.error);
  const isSame = firstDivergence === -1 && !input && !status && !output && !error;
  const summaries = { before: runSummary(before, options.prices), after: runSummary(after, options.prices) };
  return withoutUndefined({
    isSame,
    ...summaries,
    input,
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

function runSummary({ agentId, runId, status, visits, durationMs }: RunTrace, prices?: TokenPrices): RunSummary {
  const requests = visits.flatMap((visit) => visit.requests);
  return withoutUndefined({
    agentId,
    runId,
    status,
    visits: visits.length,
    modelRequests: requests.length,
    calls: visits.reduce((sum, { calls }) => sum + calls.length, 0),
    models: [...new Set(requests.flatMap(({ model }) => model ?? []))],
    usage: requests.reduce<UsageView>((sum, { usage }) => addUsages(sum, usage), {}),
    durationMs,
    cost: prices && costOf(requests, prices),
  });
}

/** Adds the counts of two usages. */
function addUsages(one: UsageView, other: UsageView = {}): UsageView {
  const { cachedInputTokens: cached } = one;
  const { cachedInputTokens: more } = other;
  const cachedInputTokens = cached === undefined ? more : cached + (more ?? 0);
  return withoutUndefined({ ...addUsage(one, other), cachedInputTokens }) as UsageView;
}

/** A run as JSON, such as from a file. */
const runTraceSchema: z.ZodType<RunTrace> = z.lazy(() => {
  const optionalText = z.string().optional();
  const error = z.looseObject({ name: z.string(), message: z.string(), code: optionalText });
  const usage = z
    .looseObject({ totalTokens: z.number().optional(), cachedInputTokens: z.number().optional() })
    .optional();
  const request = z.looseObject({ model: optionalText, usage, within: optionalText });
  const call = z.looseObject({ toolCallId: z.string(), tool: z.string(), state: z.string(), error: optionalText });
  const added = z.array(z.looseObject({ message: z.unknown() }));
  const visit = z.looseObject({
    node: z.string(),
    branch: optionalText,
    agentPath: z.array(z.string()).optional(),
    state: z.string(),
    durationMs: z.number().optional(),
    requests: z.array(request),
    calls: z.array(call),
    waits: z.array(z.looseObject({ kind: z.string(), state: z.string() })),
    messages: z.looseObject({ added, removed: z.array(z.tuple([z.number(), z.number()])) }),
  });
  const run = z.looseObject({
    agentId: z.string(),
    runId: z.string(),
    status: z.string(),
    error: error.optional(),
    durationMs: z.number().optional(),
    visits: z.array(visit),
  });
  return traceOfVersion.pipe(jsonValue).pipe(run as unknown as z.ZodType<RunTrace, RunTrace>);
});

const traceOfVersion = customSchema<RunTrace>("a run of readRunTrace() with version 1", (value) => {
  const { version, visits } = Object(value) as Partial<RunTrace>;
  return version === 1 && Array.isArray(visits);
});

/** Comparisons walk values with recursion, so a deeper value would overflow the stack. */
const jsonValue = z.custom<RunTrace>((value) => isJson(value, maximumDepth), {
  error: `expected JSON values with at most ${maximumDepth} levels`,
}) as z.ZodType<RunTrace, RunTrace>;
