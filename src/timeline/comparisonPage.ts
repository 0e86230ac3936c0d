import type { RunTrace } from "../replay/trace/RunTrace.ts";
import { comparedRuns } from "./data/comparedRuns.ts";
import { checkTimelineOptions, type TimelineOptions } from "./options/TimelineOptions.ts";
import { pageAssets, valueHtml } from "./pageHtml.ts";

/**
 * Renders two runs side by side as one self-contained HTML page, in pieces: aligned steps, the first difference, changed
 * messages and calls, tokens, times and costs. Hides the same values as a timeline.
 *
 * @throws InvalidInputError if a run or an option is invalid
 *
 * @example
 * ```ts
 * const [before, after] = [await readRunTrace(storage, { agentId: "a" }), await readRunTrace(storage, { agentId: "b" })];
 * await writeFile("comparison.html", comparisonPage(before, after));
 * ```
 */
export async function* comparisonPage(
  before: RunTrace,
  after: RunTrace,
  options: Omit<TimelineOptions, "last"> = {},
): AsyncGenerator<string, void> {
  const data = comparedRuns(before, after, checkTimelineOptions(options));
  yield* valueHtml(await pageAssets(), `${before.agentId} ↔ ${after.agentId} · comparison`, data);
}
