import { systemClock } from "../internal/Clock.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { shapeOfStatus } from "../storage/summaries.ts";
import { awayStatuses } from "../journal/assertCustody.ts";
import { openForMove } from "../transfer/exportAgent.ts";
import type { FailedLog } from "./backupStorage.ts";
import { logOf } from "../transfer/logOf.ts";

/** The result of {@link markRestored}. */
export interface MarkReport {
  /** The agents that are `copied` now. */
  readonly marked: readonly string[];
  /** The agents that could not be marked, for example because a process runs them. */
  readonly failed: readonly FailedLog[];
}

/**
 * Marks all agents of a storage as `copied`. Call it after you restored a database or a directory with other tools, and
 * before any program runs the agents: they may have made calls after the backup. `run` and `resume` then reject with
 * `agent_copied` until you check these effects and pass `takeOver: true`. Repeated calls are allowed. Agents that are
 * moving, moved or copied stay unchanged.
 *
 * @throws NotSupportedError if the storage cannot list or return its logs.
 */
export async function markRestored(storage: PersistenceStorageProvider): Promise<MarkReport> {
  const source = logOf(storage, "encodedAppends", "markRestored()");
  const [marked, failed]: [string[], FailedLog[]] = [[], []];
  const found: string[] = [];
  for await (const { agentId, status } of source.log.list())
    if (shapeOfStatus(status) === "agent" && !awayStatuses.has(status)) found.push(agentId);
  for (const agentId of found) {
    try {
      await using journal = await openForMove(source, agentId);
      await journal.store([{ kind: "custody", state: "copied", at: systemClock.now() }]);
      marked.push(agentId);
    } catch (error) {
      failed.push({ logId: agentId, error });
    }
  }
  return { marked, failed };
}
