import { UnreadableValueError } from "../../errors/UnreadableValueError.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { rollBack } from "./rollBack.ts";

/**
 * A rollback that a crash cut short, or that stopped, comes before anything else that goes on from the head.
 *
 * @returns the log as it is then, whole.
 * @throws RollbackIncompleteError, ToolCallInDoubtError when it cannot come to its end; it stays open then.
 */
export async function finishRollback(setup: PersistenceSetup, journal: Journal): Promise<AgentLog> {
  const log = await journal.readAll();
  if (!log.index.rollback) return log;
  const target = log.index.checkpoints.get(log.index.rollback.target);
  if (!target) throw new UnreadableValueError("the checkpoint of an unfinished rollback is not in the log");
  await rollBack({ setup, journal, log, target, signal: journal.lost });
  return journal.readAll();
}
