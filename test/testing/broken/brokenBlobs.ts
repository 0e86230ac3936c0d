import type { RecordLog } from "../../../src/storage/RecordLog.ts";
import { MemoryRecordLog } from "../../../src/storage/memory/MemoryRecordLog.ts";
import type { BrokenLog } from "./brokenLogs.ts";
import { delegatingLog, delegatingOwner } from "../delegatingLog.ts";

const tooEarly = "keeps the blobs of earlier owners, and blobs that a prune does not remove";

/** Mistakes about when blobs are removed. */
export const brokenBlobs: readonly BrokenLog[] = [
  {
    mistake: "removes the blobs of earlier owners when the next one opens",
    caughtBy: tooEarly,
    make: () => removingBlobs("open"),
  },
  { mistake: "removes all blobs when it prunes", caughtBy: tooEarly, make: () => removingBlobs("prune") },
  {
    mistake: "keeps the blobs of an agent that was removed",
    caughtBy: "removes an agent with all its data and keeps other agents",
    make: () => {
      const blobs = new MemoryRecordLog().blobs;
      return delegatingLog(new MemoryRecordLog(), { blobs });
    },
  },
];

/** A log that forgets the blobs of an agent, whatever names them. */
function removingBlobs(when: "open" | "prune"): RecordLog {
  const log = new MemoryRecordLog();
  const { blobs } = log;
  const known = new Map<string, string[]>();
  const removeAll = async (agentId: string) => {
    for (const reference of known.get(agentId) ?? []) await blobs.delete(agentId, reference);
  };
  return delegatingLog(log, {
    blobs: {
      put: async (agentId, generation, bytes) => {
        const reference = await blobs.put(agentId, generation, bytes);
        known.set(agentId, [...(known.get(agentId) ?? []), reference]);
        return reference;
      },
      get: (agentId, reference) => blobs.get(agentId, reference),
      delete: (agentId, reference) => blobs.delete(agentId, reference),
    },
    open: async (agentId, owner) => {
      if (when === "open") await removeAll(agentId);
      const owned = await log.open(agentId, owner);
      const prune = () => owned.prune().then(() => removeAll(agentId));
      return delegatingOwner(owned, when === "prune" ? { prune } : {});
    },
  });
}
