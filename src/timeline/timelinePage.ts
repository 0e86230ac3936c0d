import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { TimelineReader } from "./data/TimelineReader.ts";
import { pageAssets, pageHtml, valueHtml } from "./pageHtml.ts";
import { checkTimelineOptions, type TimelineOptions } from "./options/TimelineOptions.ts";
import type { RunTrace } from "../replay/trace/RunTrace.ts";
import { comparedRuns } from "./data/comparedRuns.ts";

/**
 * Renders the timeline of an agent as one self-contained HTML page, in pieces. The log is read while the pieces are
 * consumed, some hundred steps at a time, or a twentieth of a long log. A damaged log is shown up to the damage, with a
 * notice.
 *
 * @throws InvalidInputError if the agent does not exist or an option is invalid
 */
export async function* timelinePage(
  inspector: AgentInspector,
  agentId: string,
  options: TimelineOptions = {},
): AsyncGenerator<string, void> {
  const reader = new TimelineReader(inspector, agentId, checkTimelineOptions(options));
  await reader.view();
  const assets = await pageAssets();
  yield* pageHtml({ ...assets, title: `${agentId} · timeline`, items: reader.items(), agent: () => reader.agent() });
}

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
