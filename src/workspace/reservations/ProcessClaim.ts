import type { ProcessIdentity } from "../../node/ProcessIdentity.ts";

/** Which process wrote an entry, so that others can find out whether it still runs. */
export type ProcessClaim = Omit<ProcessIdentity, "isRunning">;

/** What of an identity is written down. */
export function processClaim(identity: ProcessIdentity): ProcessClaim {
  const { host, bootId, pidNamespace, processId, processStart } = identity;
  return { host, bootId, pidNamespace, processId, processStart };
}
