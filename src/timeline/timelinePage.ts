import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { TimelineReader } from "./data/TimelineReader.ts";
import { pageAssets } from "./html/pageAssets.ts";
import { pageHtml } from "./html/pageHtml.ts";
import { checkTimelineOptions, type TimelineOptions } from "./options/TimelineOptions.ts";

/**
 * An agent's timeline as one HTML page that needs nothing else: the pieces of its text, in order. The log is read while the
 * pieces are taken, some hundred steps at once, or a twentieth of a long log. A damaged log is shown up to its damage, and
 * the page says so.
 *
 * @throws InvalidInputError if there is no such agent, or an option has a value that it cannot have.
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
