import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { TimelineReader } from "./data/TimelineReader.ts";
import { pageAssets, pageHtml } from "./pageHtml.ts";
import { checkTimelineOptions, type TimelineOptions } from "./options/TimelineOptions.ts";

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
