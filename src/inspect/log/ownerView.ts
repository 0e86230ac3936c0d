import type { RecordLog } from "../../storage/RecordLog.ts";
import { isAboutOneAgent } from "../../storage/unreadableSummary.ts";
import type { OwnerView } from "../view/AgentView.ts";

/** Who has an agent; `undefined`: nobody, or nobody whose claim can be read. */
export async function ownerView(log: RecordLog, agentId: string): Promise<OwnerView | undefined> {
  try {
    const owner = await log.owner(agentId);
    if (!owner) return undefined;
    const { host, processId, generation, state } = owner;
    return { host, processId, generation, state };
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return undefined;
  }
}
