import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { ValidationCheck } from "../../persistence/read/CheckpointValidation.ts";
import type { EnvironmentMismatch } from "../../persistence/environment/EnvironmentMismatch.ts";
import type { RecoveryStepName } from "../../persistence/events/PersistenceEvent.ts";
import type { RecoveryOption } from "../../persistence/environment/RecoveryParticipant.ts";

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
  /** The result of the run. */
  readonly result: RunResult<Output>;
}
