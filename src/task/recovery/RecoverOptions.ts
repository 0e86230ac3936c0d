import { z } from "zod";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { abortSignalSchema, functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { AgentFilter } from "../../persistence/PersistenceFeature.ts";
import type { RecoveryOption, RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import type { EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import type { RecoveryStepName } from "../../listeners/PersistenceEvent.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";

/** The argument of `onConfirm`. */
export interface RecoveryProposal {
  readonly checkpoint: AgentCheckpointData;
  readonly validation: CheckpointValidation;
  readonly chosen: readonly RecoveryChoice[];
}

/** The decisions of a recovery, and the participants that carry them out. */
export interface RecoveryHandlers {
  /**
   * When to call `onConfirm`, before any change. `"on_mismatch"`: when the environment differs from the record.
   * `"always"`, which requires `onConfirm`, or `"never"`. Defaults to `"on_mismatch"`.
   */
  readonly confirm?: "on_mismatch" | "always" | "never" | undefined;
  /**
   * Chooses one of `options`, which the participants can carry out, for a mismatch. `checkpoint` identifies the agent.
   * All mismatches are decided before any is resolved. By default any mismatch rejects the recovery with
   * EnvironmentMismatchError.
   */
  readonly onEnvironmentMismatch?:
    | ((
        mismatch: EnvironmentMismatch,
        options: readonly RecoveryOption[],
        checkpoint: AgentCheckpointData,
      ) => RecoveryOption | PromiseLike<RecoveryOption>)
    | undefined;
  /** Returns false to leave the agent unchanged. By default the recovery continues. */
  readonly onConfirm?: ((proposal: RecoveryProposal) => boolean | PromiseLike<boolean>) | undefined;
  /**
   * The participants that offer options to change the environment, and carry these options out. Defaults to the
   * `recovery` of each participant of the agent, such as its workspace.
   */
  readonly participants?: readonly RecoveryParticipant[] | undefined;
}

/** Options of {@link recoverTasks}. */
export interface RecoverAllOptions extends RecoveryHandlers {
  /** Recovers only agents for which this returns true. Defaults to all agents, even of other definitions. */
  readonly only?: AgentFilter | undefined;
  /** Ends the recovery or the run with the signal's reason when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link recoverTask}. */
export interface RecoverOptions extends RecoveryHandlers {
  /** Defaults to the agent id of the definition. */
  readonly agentId?: string | undefined;
  /** Ends the recovery or the run with the signal's reason when aborted. */
  readonly signal?: AbortSignal | undefined;
}

const handlers = {
  confirm: z.enum(["on_mismatch", "always", "never"]).optional(),
  onEnvironmentMismatch: functionSchema().optional(),
  onConfirm: functionSchema().optional(),
  participants: z.array(objectWithMethods<RecoveryParticipant>("optionsFor", "prepare")).optional(),
};

/** Returns the schema of options with {@link RecoveryHandlers} and additional fields. */
export function handlerOptions(shape: z.ZodRawShape): z.ZodType {
  return strictOptions(() => ({ ...handlers, ...shape })).refine(
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

/** The chosen option for one mismatch. */
export interface RecoveryChoice {
  readonly mismatch: EnvironmentMismatch;
  readonly option: RecoveryOption;
}

/** One step of a recovery. */
export interface RecoveryStep {
  readonly step: RecoveryStepName;
  /** The checks of this step, by name. */
  readonly checks: Readonly<Record<string, ValidationCheck>>;
  /** The options that were chosen or carried out in this step. */
  readonly chosen: readonly RecoveryChoice[];
}

/** The result of a recovery. */
export interface RecoveryReport<Output> {
  readonly agentId: string;
  /** The checkpoint from which the run continued. `undefined` if the run started without a checkpoint. */
  readonly checkpointId?: string;
  /**
   * True if the run was finished. In that case, only its checkpoint was validated, and `result` is the recorded result.
   */
  readonly finished: boolean;
  /** `find_checkpoint`, `verify_environment`, `restore_state`, `resume_execution`, without those not needed. */
  readonly steps: readonly RecoveryStep[];
  /**
   * True if `onConfirm` agreed. `undefined` if `onConfirm` was not called. If `onConfirm` refuses, the recovery
   * rejects.
   */
  readonly confirmed?: true;
  readonly result: RunResult<Output>;
}
