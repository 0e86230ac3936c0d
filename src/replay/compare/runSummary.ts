import { addUsage } from "../../checkpoint/status/ModelUsage.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { UsageView } from "../../inspect/view/UsageView.ts";
import { costOf, type TokenPrices } from "../../timeline/options/TimelineOptions.ts";
import type { RunTrace, TraceModelRequest } from "../trace/RunTrace.ts";
import type { RunCost, RunSummary } from "./RunComparison.ts";

/** Returns the totals of a run. */
export function runSummary({ agentId, runId, status, visits, durationMs }: RunTrace, prices?: TokenPrices): RunSummary {
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
    cost: prices && costOfRequests(requests, prices),
  });
}

/** Adds two usages, each count by itself. */
export function addUsages(one: UsageView, other: UsageView = {}): UsageView {
  const { cachedInputTokens: cached } = one;
  const { cachedInputTokens: more } = other;
  const cachedInputTokens = cached === undefined ? more : cached + (more ?? 0);
  return withoutUndefined({ ...addUsage(one, other), cachedInputTokens }) as UsageView;
}

function costOfRequests(requests: readonly TraceModelRequest[], prices: TokenPrices): RunCost {
  const costs = requests.flatMap(({ model, usage }) => costOf(prices, model, usage) ?? []);
  const amount = costs.reduce((sum, cost) => sum + cost, 0);
  return { amount, currency: prices.currency ?? "USD", unpriced: requests.length - costs.length };
}
