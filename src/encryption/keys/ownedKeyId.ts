import type { RecordLog } from "../../storage/RecordLog.ts";
import type { DataKeys } from "./DataKeys.ts";

/** Returns the id of the key of an agent that this process owns. The log of an absent agent has no owner. */
export async function ownedKeyId(
  log: RecordLog,
  keys: DataKeys,
  { agentId, generation }: { readonly agentId: string; readonly generation: number },
): Promise<string | undefined> {
  const keyId = await keys.storedId(agentId);
  if (keyId === undefined) return undefined;
  return (await log.owner(agentId))?.generation === generation ? keyId : undefined;
}
