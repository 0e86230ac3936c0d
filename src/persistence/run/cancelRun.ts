import { RunNotOpenError } from "../../errors/runErrors.ts";
import { stopAndOpen } from "../../journal/openWithRetry.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { finishRollback } from "../rollback/rollBack.ts";
import { endUnfinished } from "./endUnfinished.ts";

/** Ends an unfinished run as cancelled. @throws RunNotOpenError, AgentBusyError */
export async function cancelRun(
  setup: PersistenceSetup,
  agentId: string,
  reason: string | undefined,
  timeoutMs: number,
): Promise<void> {
  await using journal = await stopAndOpen(setup, agentId, { reason: reason ?? "cancelled", timeoutMs });
  if (journal.head?.log.index.rollback) {
    await finishRollback(setup, journal, "leave");
    await journal.readHead();
  }
  const { log, state } = journal.head ?? {};
  if (!log?.index.run || !state) throw new RunNotOpenError("nothing_to_cancel", agentId, "it has not run");
  if (!log.index.unfinished) throw new RunNotOpenError("nothing_to_cancel", agentId, "its last run has ended");
  await endUnfinished(setup, journal, { log, state }, reason);
  await journal.durable();
}
