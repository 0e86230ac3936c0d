import { RollbackIncompleteError } from "../errors/RollbackIncompleteError.ts";
import { UnreadableValueError } from "../errors/UnreadableValueError.ts";
import type { Journal } from "../journal/Journal.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";
import { rollBack } from "./rollBack.ts";

/**
 * A rollback that a crash cut short comes before anything else that goes on from the head.
 *
 * @returns the log as it is then, whole.
 * @throws RollbackIncompleteError when not every call could be taken back.
 */
export async function finishRollback(setup: PersistenceSetup, journal: Journal): Promise<AgentLog> {
  const { agentId } = journal;
  const log = await journal.readAll();
  if (!log.index.rollback) return log;
  const target = log.index.checkpoints.get(log.index.rollback.target);
  if (!target) throw new UnreadableValueError("the checkpoint of an unfinished rollback is not in the log");
  const line = { agentId, runId: target.runId, lane: target.record.lane };
  const { report } = await rollBack({ setup, journal, log, target, line, signal: journal.lost });
  if (report.failed.length > 0) throw new RollbackIncompleteError(agentId, target.id, report.failed);
  return journal.readAll();
}
