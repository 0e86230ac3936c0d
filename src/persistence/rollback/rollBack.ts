import { runMoved } from "../../agent/context/RunMoved.ts";
import type { TypedStorage } from "../../agent/state/TypedStorage.ts";
import { storageRecords } from "../../checkpoint/format/changeRecords.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { foldTo } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback, type RollbackPlan } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { settledOutcome } from "../doubt/ToolCallInDoubt.ts";
import { askWhatHappened } from "../doubt/askWhatHappened.ts";
import { toolCallInDoubt } from "../doubt/callsInDoubt.ts";
import { branchFrom, runAt } from "../move/continueFromHead.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import { restoredRun } from "../record/startRecorder.ts";
import { revertibleCall, type RollbackReport } from "./RollbackReport.ts";
import { applyParticipants, planParticipants } from "./participants.ts";
import { revertCalls, type RevertOptions } from "./revertCalls.ts";

export interface RollBackOptions {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  /** The whole log, read after everything in flight has ended. */
  readonly log: AgentLog;
  readonly target: CheckpointPoint;
  readonly signal: AbortSignal;
  /** From outside a run: what the agent becomes. Absent: its run goes on. */
  readonly leaves?: { readonly status: "paused"; readonly reason: string } | { readonly status: "queued" };
  /** What is otherwise in the storage than at the checkpoint. From outside a run only. Default: nothing. */
  readonly changes?: ReturnType<TypedStorage["takeChanges"]>;
}

/** Takes back what was done since a checkpoint, newest first, and begins a line from it. Durable when it resolves. */
export async function rollBack(
  options: RollBackOptions,
): Promise<{ readonly report: RollbackReport; readonly recorder: RunRecorder }> {
  const { setup, journal, target, signal } = options;
  const { log, plan } = await settledPlan(options);
  const state = foldTo(log.index, target);
  if (!state) throw new UnreadableValueError(`the line to checkpoint ${target.id} is not in the log`);
  const taking = { participants: setup.participants, journal, blobs: setup.log.blobs, log, target, signal };
  const planned = await planParticipants(taking);
  const { reverted, failed } = await revertCalls({
    setup,
    journal,
    index: log.index,
    plan,
    participants: planned.map(({ record }) => record),
    target,
    signal,
  });
  const participants = await applyParticipants(planned, taking);
  const { run, reopens } = runAt(target, log.index);
  const begun = branchFrom(target, "rollback", run, reopens, journal);
  reopenRuns(journal, log.index, target);
  const end = { kind: "rollback_end", target: target.version } as const;
  const { leaves, changes = new Map() } = options;
  // The checkpoint comes last of a line's beginning, and has what stands before it.
  const records = begun.records.toSpliced(-1, 0, ...storageRecords(changes, begun.lane, journal.writer));
  journal.append([...records, end]);
  // In the same turn of the event loop, so in the same append.
  if (leaves) journal.append(statusRecords(journal.statusState, { ...leaves, at: journal.clock.now() }));
  await journal.durable();
  const report = runMoved({
    checkpointId: target.id,
    reverted,
    failed,
    irreversible: plan.irreversible.map(revertibleCall),
    skipped: plan.skipped.map(revertibleCall),
    participants,
  });
  return {
    report,
    recorder: restoredRun(
      setup,
      journal,
      { log, state },
      { lane: begun.lane, run, opening: [], head: begun.head, by: "rollback" },
    ),
  };
}

/** The plan, with the log it was made from, once it is said what became of the calls in doubt. */
async function settledPlan(options: RollBackOptions): Promise<{ readonly log: AgentLog; readonly plan: RollbackPlan }> {
  const { journal, log } = options;
  const plan = planOf(options, log);
  const settled = await resolveDoubtsForRollback(plan, options);
  if (settled.length === 0) return { log, plan };
  journal.append(settled);
  const settledLog = await journal.readAll();
  return { log: settledLog, plan: planOf(options, settledLog) };
}

function planOf({ setup, target }: RollBackOptions, { index, blobs }: AgentLog): RollbackPlan {
  const { registry, participantTools } = setup;
  return planRollback(
    index,
    loggedCalls(index, blobs),
    target,
    (tool) => registry.has(tool),
    (tool) => participantTools.has(tool),
  );
}

/** Runs that ended below a checkpoint have not ended once it is where the agent is. */
function reopenRuns(journal: Journal, index: LogProjection, target: CheckpointPoint): void {
  for (const run of [target.runId, ...index.runsBelow(target.version)]) {
    journal.runs.delete(run);
    journal.cancelled.delete(run);
  }
}

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

/**
 * What becomes of the calls in doubt that a rollback passes over: decided before anything is undone, as when their node
 * runs again. Calls that may be repeated need no word.
 *
 * @throws ToolCallInDoubtError when a person has to decide; nothing has changed then.
 */
export async function resolveDoubtsForRollback(
  { revert, inDoubt }: RollbackPlan,
  { setup, journal, signal }: Pick<RevertOptions, "setup" | "journal" | "signal">,
): Promise<readonly OutcomeRecord[]> {
  const records: OutcomeRecord[] = [];
  for (const call of [...revert, ...inDoubt].filter((one) => !one.outcome && !isRepeatable(one, setup))) {
    const asked = { tool: setup.toolNamed(call.tool), choice: setup.onToolCallInDoubt, signal };
    const { settlement, by } = await askWhatHappened(toolCallInDoubt(journal.agentId, call), asked);
    const end =
      settlement === "not-done"
        ? ({ unstarted: true, settled: by } as const)
        : settledOutcome(settlement, by, (output) =>
            journal.writer.value(output, `the settled output of "${call.tool}"`),
          );
    const { lane, visit, call: id } = call;
    records.push({ kind: "outcome", lane, visit, call: id, ...end });
  }
  return records;
}

/** As its tool is declared now, or was when the call began. */
function isRepeatable({ tool, effect }: LoggedCall, setup: PersistenceSetup): boolean {
  const known = setup.toolNamed(tool);
  const now = known ? setup.effectOf(known) : effect;
  return now === "none" || now === "idempotent";
}
