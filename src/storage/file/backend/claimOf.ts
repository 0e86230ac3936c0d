import { formatVersion } from "../../../checkpoint/format/formatVersion.ts";
import type { Claim } from "../format/controlLine.ts";
import type { FileBackend } from "./FileBackend.ts";

/** What an owner of this process claims a segment with. */
export function claimOf({ identity }: FileBackend, agentId: string, generation: number, nonce: string): Claim {
  const { host, bootId, pidNamespace, processId, processStart } = identity;
  return { format: formatVersion, agentId, generation, host, bootId, pidNamespace, processId, processStart, nonce };
}
