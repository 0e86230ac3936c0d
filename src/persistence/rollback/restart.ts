import type { z } from "zod";
import type { AgentStorage } from "../../agent/context/AgentContext.ts";
import { TypedStorage } from "../../agent/state/TypedStorage.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import { type StatusState, statusRecords } from "../../checkpoint/state/StatusState.ts";
import { STATE_TRANSITIONS } from "../../checkpoint/status/TaskStatus.ts";
import { TaskNotFoundError, TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { firstOfRun, isEnoughForRollback } from "../../journal/findCheckpoint.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { finishRollback, rollBack } from "./rollBack.ts";
import type { RollbackReport } from "./RollbackReport.ts";

export interface RestartOptions {
  /**
   * Receives the storage of the failed task before the rollback. Values that the function sets are in the storage of
   * the restarted task, with the other values of the first checkpoint. If the function throws, the restart rejects.
   */
  readonly prepareStorage?: ((storage: AgentStorage, agentId: string) => PromiseLike<void> | void) | undefined;
}

export const restartSchema: z.ZodType<RestartOptions> = strictOptions(() => ({
  prepareStorage: functionSchema<RestartOptions["prepareStorage"]>().optional(),
}));

export function restart(
  setup: PersistenceSetup,
  agentId: string,
  options: RestartOptions,
): Promise<RollbackReport | undefined> {
  const action = () => rollBackToStart(setup, agentId, options);
  return setup.telemetry?.rollback(agentId, action) ?? action();
}

async function rollBackToStart(
  setup: PersistenceSetup,
  agentId: string,
  { prepareStorage }: RestartOptions,
): Promise<RollbackReport | undefined> {
  await using journal = await setup.openJournal(agentId);
  assertRestartable(agentId, journal.statusState);
  await journal.durable();
  const before = await AgentLog.readRecent(setup.log, agentId, isEnough);
  const isRedo = before.index.rollback?.base !== undefined;
  const log = isRedo ? (await finishRollback(setup, journal)).log : before;
  const target = firstOfRun(log.index);
  if (!target) {
    await journal.store(statusRecords(journal.statusState, { status: "queued", at: journal.clock.now() }));
    return undefined;
  }
  const storage = storageOf(log);
  await prepareStorage?.(storage, agentId);
  const leaves = { status: "queued" } as const;
  const changes = storage.takeChanges();
  const { lost: signal } = journal;
  const { report } = await rollBack({ setup, journal, log, target, signal, takesCode: true, leaves, changes });
  return report;
}

/** Returns whether a log that was read from its newest snapshot contains the whole last run. */
function isEnough(recent: AgentLog): boolean {
  const { base, checkpoints } = recent.index;
  const target = firstOfRun(recent.index);
  if (!target || !isEnoughForRollback(recent, target.id)) return false;
  const isBase = base?.state.checkpoint?.version === target.version;
  return checkpoints.has(target.parent ?? -1) || (isBase && base.first && !target.record.move);
}

function assertRestartable(taskId: string, { task, current }: StatusState): void {
  if (!task || !current) throw new TaskNotFoundError(taskId);
  const { status: from, record } = current;
  const allowed = record?.recoverable === false ? [] : STATE_TRANSITIONS[from];
  if (from !== "failed" || allowed.length === 0) throw new TransitionNotAllowedError(taskId, from, "queued", allowed);
}

function storageOf(log: AgentLog): TypedStorage {
  const state = log.index.latest && foldTo(log.index, log.index.latest);
  return new TypedStorage(state && log.reader(state).storage());
}
