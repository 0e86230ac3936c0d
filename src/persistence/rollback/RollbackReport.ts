import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { type RunMoved, runMoved } from "../../agent/strategy/Strategy.ts";
import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type LoggedCall, loggedCalls, read } from "../../journal/loggedCalls.ts";
import type { RollbackGoal, RollbackPlan } from "../../journal/planRollback.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

export interface Rollback extends RollbackGoal {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  /** The log with all calls after the target, read after all running work has ended. */
  readonly log: AgentLog;
  readonly signal: AbortSignal;
  /** The ids of the calls that still run after the grace period. */
  readonly unended?: readonly string[] | undefined;
  readonly onFailure?: OnRevertFailure | undefined;
}

/**
 * What a rollback does if it cannot revert a call or step. `stop`: it rejects with RollbackIncompleteError and stays
 * open. `leave`: the effect remains and is reported, and the rollback continues.
 */
export type OnRevertFailure = "stop" | "leave";

/** The result of a rollback. Every list is in the order of the rollback, newest call first. */
export interface RollbackReport extends RunMoved {
  /** The checkpoint to which the agent was rolled back. */
  readonly checkpointId: string;
  /**
   * Set only for a redo, which is a rollback to a checkpoint on an abandoned branch: the common ancestor of that
   * checkpoint and the previous head. The messages, state and files of the target are restored.
   */
  readonly commonAncestorId?: string;
  /** Calls whose inverse has run. */
  readonly reverted: readonly RevertibleCall[];
  /** Calls whose inverse failed, calls in doubt, and calls that run after the grace period. Effects may remain. */
  readonly failed: readonly (RevertibleCall & { readonly error: unknown })[];
  /** Calls that succeeded and have no inverse. Their effects remain. */
  readonly irreversible: readonly RevertibleCall[];
  /**
   * Calls that were not reverted because they requested a move, wait for an answer, or belong to the original agent of
   * this fork, whose id is `owner`. Contains all calls if only messages were rolled back.
   */
  readonly skipped: readonly RevertibleCall[];
  /**
   * For a redo, calls between the common ancestor and the target that an earlier rollback reverted. Their effects are
   * gone, although the messages show their results, because the redo does not make the calls again. Empty for a
   * rollback that is no redo.
   */
  readonly stayedReverted: readonly RevertibleCall[];
  /** The resources that participants reverted or restored, such as files. Participants without steps are omitted. */
  readonly participants: readonly ParticipantReport[];
}

export interface ParticipantReport {
  readonly key: string;
  /** The steps in the order of application. Steps that could not be applied are marked. */
  readonly steps: readonly DescribedStep[];
}

/** Returns a recorded call for reports. If its input or output is unreadable, the report contains the other. */
export function revertibleCall(call: LoggedCall): RevertibleCall {
  const input = read(call.input);
  const output = read(call.output);
  const { unreadable } = { ...input, ...output };
  const made = { toolCallId: call.call, toolName: call.tool, input: input.value, output: output.value };
  const shown = call.owner === undefined ? made : { ...made, owner: call.owner };
  return unreadable === undefined ? shown : { ...shown, unreadable };
}

export interface RollbackOptions {
  /** The context of the run. Defaults to the bound context. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * `default` restores messages, node, input, storage and iteration count, and runs the inverses of all later calls.
   * `message_history_only` restores only the messages, and the current node runs again from its start. Effects remain.
   */
  readonly rollbackStrategy?: "default" | "message_history_only" | undefined;
  /**
   * What to do if a call or a participant's step cannot be reverted. `stop`: the rollback rejects with
   * RollbackIncompleteError and stays open. `leave`: the effect remains and is reported, and the rollback continues.
   * Defaults to `stop`.
   */
  readonly onFailure?: OnRevertFailure | undefined;
}

const optionsSchema = strictOptions(() => ({
  agentContext: z.unknown().optional(),
  rollbackStrategy: z.enum(["default", "message_history_only"]).optional(),
  onFailure: z.enum(["stop", "leave"]).optional(),
}));

/** Returns whether only the messages are rolled back. @throws InvalidInputError for an unknown strategy. */
export function isHistoryOnly(options: RollbackOptions): boolean {
  checkSchema(optionsSchema, options, "options of a rollback");
  return options.rollbackStrategy === "message_history_only";
}

interface StoredReport {
  readonly reverted: readonly string[];
  readonly failed?: readonly string[];
  readonly irreversible: readonly string[];
  readonly skipped: readonly string[];
  readonly stayedReverted?: readonly string[];
  readonly participants: readonly ParticipantReport[];
}

/** Returns the report of a rollback, which includes what an earlier attempt has reverted. */
export function reportOf(
  log: AgentLog,
  { target, base }: RollbackGoal,
  plan: RollbackPlan,
  { reverted, participants, ...others }: Pick<RollbackReport, "reverted" | "failed" | "skipped" | "participants">,
): RollbackReport {
  const before = doneBefore(log, target);
  return runMoved({
    checkpointId: target.id,
    ...(base && { commonAncestorId: base.id }),
    ...others,
    reverted: [...before.reverted, ...reverted],
    irreversible: plan.irreversible.map(revertibleCall),
    stayedReverted: plan.stayedReverted.map(revertibleCall),
    participants: [...before.participants, ...participants],
  });
}

export function storedReport(report: RollbackReport): StoredReport {
  const { reverted, failed, irreversible, skipped, stayedReverted, participants } = report;
  return {
    reverted: idsOf(reverted),
    ...(failed.length > 0 && { failed: idsOf(failed) }),
    irreversible: idsOf(irreversible),
    skipped: idsOf(skipped),
    ...(stayedReverted.length > 0 && { stayedReverted: idsOf(stayedReverted) }),
    participants,
  };
}

function idsOf(calls: readonly RevertibleCall[]): readonly string[] {
  return calls.map(({ toolCallId }) => toolCallId);
}

/**
 * Returns the report of the last rollback if it reached this checkpoint without failures and is the end of the log. A
 * process may have been killed before its caller received this report.
 */
export function finishedReport(log: AgentLog, { target, base }: RollbackGoal): RollbackReport | undefined {
  const stored = lastReport(log, target);
  if (!stored || hasFailed(stored) || log.index.rollback) return undefined;
  const shown = callsByIds(log);
  return runMoved({
    checkpointId: target.id,
    ...(base && { commonAncestorId: base.id }),
    reverted: shown(stored.reverted),
    failed: [],
    irreversible: shown(stored.irreversible),
    skipped: shown(stored.skipped),
    stayedReverted: shown(stored.stayedReverted ?? []),
    participants: stored.participants,
  });
}

/** Returns what an incomplete rollback to this checkpoint has reverted, which is not repeated. */
function doneBefore(log: AgentLog, target: CheckpointPoint): Pick<RollbackReport, "reverted" | "participants"> {
  const stored = lastReport(log, target);
  if (!stored || !hasFailed(stored)) return { reverted: [], participants: [] };
  return { reverted: callsByIds(log)(stored.reverted), participants: stored.participants };
}

function lastReport(log: AgentLog, target: CheckpointPoint): StoredReport | undefined {
  const { lastRollback } = log.index;
  if (lastRollback?.target !== target.version || lastRollback.report === undefined) return undefined;
  return read(() => log.readValue(lastRollback.report)).value as StoredReport | undefined;
}

function hasFailed({ failed = [] }: StoredReport): boolean {
  return failed.length > 0;
}

function callsByIds(log: AgentLog): (ids: readonly string[]) => readonly RevertibleCall[] {
  const calls = new Map(loggedCalls(log.index, log.blobs).map((call) => [call.call, call]));
  return (ids) =>
    ids.flatMap((id) => {
      const call = calls.get(id);
      return call ? [revertibleCall(call)] : [];
    });
}
