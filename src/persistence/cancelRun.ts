import { AgentBusyError } from "../errors/AgentBusyError.ts";
import { NothingToCancelError } from "../errors/NothingToCancelError.ts";
import type { Journal } from "../journal/Journal.ts";
import { endRecords } from "./endRecords.ts";
import { openWhenFree } from "./openWhenFree.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";

/**
 * Ends a run that has not ended, as cancelled. A process that runs it is asked to stop first. Durable when it resolves.
 *
 * @throws NothingToCancelError, AgentBusyError
 */
export async function cancelRun(
  setup: PersistenceSetup,
  agentId: string,
  reason: string | undefined,
  timeoutMs: number,
): Promise<void> {
  await using journal = await stop(setup, agentId, reason ?? "cancelled", timeoutMs);
  const { log, state } = journal.head ?? {};
  if (!log?.index.run || !state) throw new NothingToCancelError(agentId, "it has not run");
  if (!log.index.unfinished) throw new NothingToCancelError(agentId, "its last run has ended");
  journal.append(endRecords(journal, { log, state }, { status: "cancelled", ...(reason !== undefined && { reason }) }));
  await journal.durable();
}

async function stop(setup: PersistenceSetup, agentId: string, reason: string, timeoutMs: number): Promise<Journal> {
  try {
    return await setup.openJournal(agentId);
  } catch (error) {
    if (!(error instanceof AgentBusyError)) throw error;
    await setup.log.requestStop(agentId, reason);
    return openWhenFree(setup, agentId, timeoutMs);
  }
}
