import { mergeSorted } from "../internal/mergeSorted.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { AgentSummary, ListOptions, RecordLog } from "./RecordLog.ts";
import { compareSummaries, isSelected } from "./selectSummaries.ts";
import { isAboutOneAgent } from "./unreadableSummary.ts";

/** The prefix of the `order` of logs that are not agents. It sorts after all agents. */
export const orderBehindAgents = "~~";

/** Lists the agents that match all options, and applies options that the storage does not support. */
export async function* listSummaries(log: RecordLog, options: ListOptions): AsyncGenerator<AgentSummary> {
  for await (const summary of listLogs(log, options)) {
    if (summary.order.startsWith(orderBehindAgents)) return;
    yield summary;
  }
}

export async function* listLogs(log: RecordLog, options: ListOptions): AsyncGenerator<AgentSummary> {
  if (log.capabilities.narrows) return yield* log.list(options);
  const { limit = Infinity, free } = options;
  let left = limit;
  for await (const summary of left > 0 ? listStatuses(log, options) : []) {
    if (!isSelected(summary, options) || (free && (await isOwned(log, summary.agentId)))) continue;
    yield summary;
    if (--left <= 0) return;
  }
}

function listStatuses(log: RecordLog, { status, after, readOnly }: ListOptions): AsyncIterable<AgentSummary> {
  const asked = typeof status === "object" ? [...new Set(status)] : [status];
  const lists = asked.map((one) => log.list(withoutUndefined({ status: one, after, readOnly })));
  return mergeSorted(lists, compareSummaries);
}

/**
 * Whether an agent has a living owner. Returns `false` for an unreadable agent, so the error occurs when it is opened.
 */
export async function isOwned(log: RecordLog, agentId: string): Promise<boolean> {
  try {
    return (await log.owner(agentId))?.state === "alive";
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return false;
  }
}
