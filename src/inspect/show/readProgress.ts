import { mostCheckpoints } from "../../journal/agentSummary.ts";
import { readEntries } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { ListedAgent } from "../view/AgentView.ts";
import { isDamage } from "../log/readIndex.ts";
import { isoTime } from "./checkpointView.ts";

/**
 * Reads the number of checkpoints of a running agent and the newest time, which its summary lacks. Empty if damaged.
 */
export async function readProgress(
  log: RecordLog,
  { agentId }: ListedAgent,
): Promise<Pick<ListedAgent, "checkpoints" | "updatedAt">> {
  try {
    const { index } = await readEntries(log, agentId, { sinceSnapshot: true });
    const newest = [...index.checkpoints.values()].at(-1);
    if (!newest) return {};
    return { checkpoints: mostCheckpoints(index), updatedAt: isoTime(newest.record.at) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return {};
  }
}
