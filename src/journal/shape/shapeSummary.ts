import { orderBehindAgents } from "../../storage/listSummaries.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { logIdOf } from "./LogShape.ts";

const latestTime = 8.64e15;
const timeDigits = 16;

/**
 * Returns the summary of a log of any shape except an agent log. Its order sorts the last changed log first. Times are
 * milliseconds since 1970.
 */
export function shapeSummary(
  shape: { readonly name: string },
  id: string,
  createdAt: number,
  now: number,
): AgentSummary {
  const agentId = logIdOf(shape, id);
  const left = String(latestTime - now).padStart(timeDigits, "0");
  return {
    agentId,
    status: shape.name,
    order: `${orderBehindAgents}${left} ${agentId}`,
    requestIds: [],
    position: 0,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(now).toISOString(),
    data: {},
  };
}
