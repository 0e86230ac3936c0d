import { mergeSorted } from "../internal/mergeSorted.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { AgentSummary, ListOptions, RecordLog } from "./RecordLog.ts";
import { compareSummaries, isSelected } from "./selectSummaries.ts";
import { isAboutOneAgent } from "./unreadableSummary.ts";

/** What the `order` of every log begins with that is no agent's. That of no agent does, and none comes behind it. */
export const orderBehindAgents = "~~";

/** The agents that a storage lists under all options, also where it does not select by all of them itself. */
export async function* listSummaries(log: RecordLog, options: ListOptions): AsyncGenerator<AgentSummary> {
  for await (const summary of listLogs(log, options)) {
    if (summary.order.startsWith(orderBehindAgents)) return;
    yield summary;
  }
}

/** The logs that a storage lists under all options, those of agents first. */
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

/** The list of each status asked for, as one. */
function listStatuses(log: RecordLog, { status, after, readOnly }: ListOptions): AsyncIterable<AgentSummary> {
  const asked = typeof status === "object" ? [...new Set(status)] : [status];
  const lists = asked.map((one) => log.list(withoutUndefined({ status: one, after, readOnly })));
  return mergeSorted(lists, compareSummaries);
}

/** Whether a living owner has an agent. One that cannot be read counts as free: who opens it gets the error. */
export async function isOwned(log: RecordLog, agentId: string): Promise<boolean> {
  try {
    return (await log.owner(agentId))?.state === "alive";
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return false;
  }
}
