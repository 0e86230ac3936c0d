import type { RecordLog } from "../../storage/RecordLog.ts";
import { isAboutOneAgent } from "../../storage/unreadableSummary.ts";
import type { OwnerView } from "../view/AgentView.ts";

/** Returns the owner of an agent. `undefined` if the agent has no owner or the claim cannot be read. */
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
