import { AgentPersistenceError, quotedList, quoted } from "./AgentPersistenceError.ts";

/** The agent has no checkpoint with the requested id or name, or none at all. The stored state is unchanged. */
export class CheckpointNotFoundError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_found";
  /** The ids of the newest checkpoints, newest last. At most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** `undefined` if the latest checkpoint was requested. */
    readonly checkpointId: string | undefined,
    available: readonly string[],
    /** Whether `checkpointId` is a name that `nameCheckpoint` assigned, or a running node requested the checkpoint. */
    asked: "id" | "name" | "in_node" = "id",
  ) {
    const missing = checkpointId === undefined ? "no checkpoints" : `no checkpoint ${quoted(checkpointId)}`;
    const newest = available.slice(-10);
    const { empty, some } = nextSteps[asked];
    super(
      `Agent ${quoted(agentId)} has ${missing}. ${newest.length === 0 ? empty : `${some}: ${quotedList(newest)}`}.`,
    );
    this.available = newest;
  }
}

const nextSteps = {
  id: {
    empty: "Check that the agent has run with this storage",
    some: "Choose one of the newest",
  },
  name: { empty: "Its checkpoints have no names", some: "Choose one of its names" },
  in_node: {
    empty: "Save one first with createCheckpoint(), in a storage that keeps data",
    some: "Choose one of the newest",
  },
} as const;

/** The start of a running node cannot be saved, because the node already saved a later state. Nothing was saved. */
export class CheckpointNotPossibleError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_possible";

  constructor(
    readonly agentId: string,
    /** The path of the running node. */
    readonly nodeId: string,
  ) {
    super(
      `The start of node ${quoted(nodeId)} of agent ${quoted(agentId)} can no longer be saved, ` +
        `because a later state of the same execution is already saved. Pass the node that runs next: createCheckpoint({ nodeId, lastInput }).`,
    );
  }
}

/** A part of a checkpoint, such as a message, with its size. */
export interface LargePart {
  /** For example `storage key "cart"` or `message 12`. */
  readonly name: string;
  /** The size as JSON in UTF-8, before compression. */
  readonly bytes: number;
}

/** A checkpoint or the answers to requests exceed `maxCheckpointBytes`. The data was not saved. */
export class CheckpointTooLargeError extends AgentPersistenceError {
  override readonly code = "checkpoint_too_large";
  /** The total size of the new data, as JSON in UTF-8. */
  readonly bytes: number;
  /** The largest parts, largest first. At most five. */
  readonly parts: readonly LargePart[];

  constructor(
    readonly agentId: string,
    /** The path of the node that would run after this checkpoint, or of the node that made the requests. */
    readonly nodeId: string,
    parts: readonly LargePart[],
    readonly maxBytes: number,
    what: "checkpoint" | "answers" = "checkpoint",
  ) {
    const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const largest = parts.slice(0, 5);
    super(
      `${subjects[what]} agent ${quoted(agentId)} ${what === "checkpoint" ? "before" : "for"} node ${quoted(nodeId)} would add ${total} bytes, ` +
        `but at most ${maxBytes} bytes are allowed. Largest parts: ` +
        `${largest.map(({ name, bytes }) => `${name}, ${bytes} bytes`).join("; ")}. ` +
        `Keep such data elsewhere and store a reference to it, or raise maxCheckpointBytes.`,
    );
    this.bytes = total;
    this.parts = largest;
  }
}

const subjects = { checkpoint: "The checkpoint of", answers: "The answers to requests of" };

/** A difference between the environment and the checkpoint, with the possible decisions. */
export interface UnresolvedMismatch {
  readonly kind: string;
  /** The file or directory concerned. Omitted for other mismatches. */
  readonly path?: string;
  readonly description: string;
  /** The values that `onEnvironmentMismatch` may return. */
  readonly options: readonly string[];
}

/** The environment does not match the checkpoint, and no `onEnvironmentMismatch` is set. Nothing was changed. */
export class EnvironmentMismatchError extends AgentPersistenceError {
  override readonly code = "environment_mismatch";

  constructor(
    readonly agentId: string,
    /** The checkpoint to continue from. */
    readonly checkpointId: string,
    readonly mismatches: readonly UnresolvedMismatch[],
  ) {
    const lines = mismatches.map(({ description, options }) => `${description} (${options.join(", ")})`);
    super(
      `Agent ${quoted(agentId)} cannot continue from checkpoint ${checkpointId}, because its environment has changed: ` +
        `${lines.join("; ")}. Pass onEnvironmentMismatch to recoverTask or to the worker, and return one of the options for each change.`,
    );
  }
}

/**
 * Why a rollback cannot return to a checkpoint on an abandoned branch.
 *
 * - `outside`: a running node called the rollback, but only code outside of a run can return there.
 * - `nested`: the checkpoint belongs to a branch of a parallel node, or to a sub-agent.
 * - `open`: another rollback is unfinished.
 * - `unrelated`: the checkpoint and the head have no common ancestor.
 */
export type RedoObstacle = "outside" | "nested" | "open" | "unrelated";

interface Refusal {
  readonly obstacle: RedoObstacle;
  /** The branch that the checkpoint belongs to. Set only if the parallel node has already joined the branch. */
  readonly joinedBranch?: string | undefined;
  /** The target of the unfinished rollback. */
  readonly openTo?: string | undefined;
}

/**
 * A rollback cannot go to the requested checkpoint. The checkpoint is not an ancestor of the current checkpoint, and a
 * redo cannot restore it. The stored state is unchanged.
 */
export class NotAnAncestorError extends AgentPersistenceError {
  override readonly code = "not_an_ancestor";
  /** The ids of checkpoints that the rollback can go to, newest last. At most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    readonly checkpointId: string,
    ancestors: readonly string[],
    refusal: Refusal,
  ) {
    const newest = ancestors.slice(-10);
    super(
      `Checkpoint ${quoted(checkpointId)} of agent ${quoted(agentId)} ${problemOf(agentId, refusal)} ` +
        (refusal.obstacle === "open"
          ? `Until then, a rollback can only go to ${quotedList(newest)}.`
          : `Roll back to an ancestor, such as ${quotedList(newest)}. To keep all effects, call resume({ checkpointId }).`),
    );
    this.available = newest;
  }
}

function problemOf(agentId: string, { obstacle, joinedBranch, openTo = "" }: Refusal): string {
  if (joinedBranch !== undefined) return `belongs to branch ${quoted(joinedBranch)}, which is already joined.`;
  switch (obstacle) {
    case "outside":
      return (
        "is not an ancestor of the current checkpoint. A run cannot roll back to an abandoned branch. " +
        `Finish the run and call persistence(agent).agent(${quoted(agentId)}).rollbackToCheckpoint(checkpointId).`
      );
    case "nested":
      return "belongs to another branch or a called agent. After a rollback, only checkpoints of the main line can be restored.";
    case "open":
      return `cannot be restored while a rollback to ${quoted(openTo)} is unfinished. Repeat that rollback, or resume the agent.`;
    case "unrelated":
      return "is on an abandoned branch and shares no stored ancestor with the current checkpoint.";
  }
}

/** An interrupted rollback needs a participant that the agent definition does not have. Nothing was changed. */
export class ParticipantMissingError extends AgentPersistenceError {
  override readonly code = "participant_missing";

  constructor(
    readonly agentId: string,
    /** The target of the rollback. */
    readonly checkpointId: string,
    readonly participant: string,
  ) {
    super(
      `The interrupted rollback of agent ${quoted(agentId)} to checkpoint ${quoted(checkpointId)} has remaining steps for ` +
        `participant ${quoted(participant)}, which this agent definition does not have. Add it to ` +
        "the option participants of install(Persistence, …), then run or resume again.",
    );
  }
}

/** The caller stopped the recovery, or the stored state cannot be continued. The stored state is unchanged. */
export class RecoveryRefusedError extends AgentPersistenceError {
  override readonly code = "recovery_refused";

  constructor(
    readonly agentId: string,
    /** The reason, as a clause without a period. */
    readonly reason: string,
  ) {
    super(`Agent ${quoted(agentId)} was not recovered: ${reason}. The stored state is unchanged.`);
  }
}

interface ListedCall {
  readonly toolCallId: string;
  readonly toolName: string;
}

interface FailedCall extends ListedCall {
  /** The id for `settleToolCall`, which settles the inverse. Omitted if the call has no inverse to settle. */
  readonly inverseId?: string;
  readonly error: unknown;
}

/** A rollback stopped at a call that it cannot revert. The agent is blocked until the rollback continues. */
export class RollbackIncompleteError extends AgentPersistenceError {
  override readonly code = "rollback_incomplete";

  constructor(
    readonly agentId: string,
    /** The target of the rollback. */
    readonly checkpointId: string,
    /** The reverted calls, newest first. */
    readonly reverted: readonly ListedCall[],
    /** The calls that could not be reverted. The last of these calls stopped the rollback. */
    readonly failed: readonly FailedCall[],
    readonly remaining: readonly ListedCall[],
  ) {
    const stopped = failed.at(-1);
    const agent = quoted(agentId);
    super(
      `The rollback of agent ${agent} to checkpoint ${quoted(checkpointId)} stopped at call ` +
        `${stopped?.toolCallId} of "${stopped?.toolName}": ${describe(stopped?.error)} ` +
        `Calls reverted before: ${reverted.length}; calls that remain: ${remaining.length}. ` +
        `Remove the cause. Then roll back, run or resume, which first finishes this rollback. Or revert the call by hand and record it with ` +
        `settleToolCall(${stopped?.inverseId && quoted(stopped.inverseId)}, { output: undefined }) of the agent. ` +
        `To keep the effect, settle with { error: "…" }, or roll back with { onFailure: "leave" }.`,
    );
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "a value that is not an Error was thrown.";
  return `${error.name}: ${error.message.replace(/\.?$/u, ".")}`;
}
