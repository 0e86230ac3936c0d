import { z } from "zod";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { abortSignalSchema, functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { AgentFilter } from "../../persistence/PersistenceFeature.ts";
import type { RecoveryOption, RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import type { EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import type { RecoveryStepName } from "../../events/PersistenceEvent.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";

/** What `onConfirm` gets. */
export interface RecoveryProposal {
  readonly checkpoint: AgentCheckpointData;
  readonly validation: CheckpointValidation;
  readonly chosen: readonly RecoveryChoice[];
}

/** The decisions of a recovery, and the participants that carry them out. */
export interface RecoveryHandlers {
  /**
   * When `onConfirm` is called, before anything changes: `"on_mismatch"` when the environment differs from the recorded
   * one, `"always"`, or `"never"`. `"always"` requires `onConfirm`. Default `"on_mismatch"`.
   */
  readonly confirm?: "on_mismatch" | "always" | "never" | undefined;
  /**
   * Chooses how to resolve a mismatch, one of `options`: those that the participants can carry out. `checkpoint` says which
   * agent is meant. All mismatches are decided before any is resolved. Default: any mismatch rejects the recovery with
   * EnvironmentMismatchError.
   */
  readonly onEnvironmentMismatch?:
    | ((
        mismatch: EnvironmentMismatch,
        options: readonly RecoveryOption[],
        checkpoint: AgentCheckpointData,
      ) => RecoveryOption | PromiseLike<RecoveryOption>)
    | undefined;
  /** Returns false to leave the agent unchanged. Default: the recovery continues. */
  readonly onConfirm?: ((proposal: RecoveryProposal) => boolean | PromiseLike<boolean>) | undefined;
  /**
   * They offer and carry out options that change the environment. Default: the `recovery` of each participant of the agent,
   * such as its workspace.
   */
  readonly participants?: readonly RecoveryParticipant[] | undefined;
}

/** Which agents {@link recoverTasks} recovers, and how. */
export interface RecoverAllOptions extends RecoveryHandlers {
  /** Only agents for which it returns true. Default: all agents in the storage, also those of other definitions. */
  readonly only?: AgentFilter | undefined;
  /** Aborting it ends the recovery, or the run, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Which agent {@link recoverTask} recovers, and how. */
export interface RecoverOptions extends RecoveryHandlers {
  /** Default: the agent's own id. */
  readonly agentId?: string | undefined;
  /** Aborting it ends the recovery, or the run, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const handlers = {
  confirm: z.enum(["on_mismatch", "always", "never"]).optional(),
  onEnvironmentMismatch: functionSchema().optional(),
  onConfirm: functionSchema().optional(),
  participants: z.array(objectWithMethods<RecoveryParticipant>("optionsFor", "prepare")).optional(),
};

/** The schema of options with {@link RecoveryHandlers} and these fields beside them. */
export function handlerOptions(shape: z.ZodRawShape): z.ZodType {
  return strictOptions({ ...handlers, ...shape }).refine(
    ({ confirm, onConfirm }) => confirm !== "always" || onConfirm !== undefined,
    { path: ["onConfirm"], error: 'expected a function, since confirm is "always"' },
  );
}

export const recoverSchema: z.ZodType = handlerOptions({
  agentId: z.unknown().optional(),
  signal: abortSignalSchema.optional(),
});

export const recoverAllSchema: z.ZodType = handlerOptions({
  only: functionSchema().optional(),
  signal: abortSignalSchema.optional(),
});

/** The option that was chosen for one mismatch. */
export interface RecoveryChoice {
  readonly mismatch: EnvironmentMismatch;
  readonly option: RecoveryOption;
}

/** One step of a recovery. */
export interface RecoveryStep {
  /** The name of the step. */
  readonly step: RecoveryStepName;
  /** The checks of this step, by name. */
  readonly checks: Readonly<Record<string, ValidationCheck>>;
  /** The options that were chosen, or carried out, in this step. */
  readonly chosen: readonly RecoveryChoice[];
}

/** The result of a recovery. */
export interface RecoveryReport<Output> {
  readonly agentId: string;
  /** Where the run continued. Absent: the run had no checkpoint yet and began at its start. */
  readonly checkpointId?: string;
  /**
   * True when the run had ended before: only its checkpoint was validated, and `result` is the recorded result.
   */
  readonly finished: boolean;
  /** `find_checkpoint`, `verify_environment`, `restore_state`, `resume_execution`, in this order; steps that did not apply are absent. */
  readonly steps: readonly RecoveryStep[];
  /** What `onConfirm` answered; a refusal rejects the recovery instead. Absent: it was not called. */
  readonly confirmed?: true;
  /** The result of the run. */
  readonly result: RunResult<Output>;
}
