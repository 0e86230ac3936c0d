import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { ValidationCheck } from "../../persistence/read/CheckpointValidation.ts";
import type { EnvironmentMismatch } from "../../persistence/environment/EnvironmentMismatch.ts";
import type { RecoveryStepName } from "../../persistence/events/PersistenceEvent.ts";
import type { RecoveryOption } from "../../persistence/environment/RecoveryOption.ts";

/** What was chosen for one mismatch. */
export interface RecoveryChoice {
  readonly mismatch: EnvironmentMismatch;
  readonly option: RecoveryOption;
}

/** One step of a recovery. */
export interface RecoveryStep {
  /** Which step it is. */
  readonly step: RecoveryStepName;
  /** What was looked at, by name. */
  readonly checks: Readonly<Record<string, ValidationCheck>>;
  /** What was chosen, or carried out, in this step. */
  readonly chosen: readonly RecoveryChoice[];
}

/** How an agent came back. */
export interface RecoveryReport<Output> {
  readonly agentId: string;
  /** Where it went on. Absent: the run had no checkpoint yet and began at its start. */
  readonly checkpointId?: string;
  /**
   * True when its run had ended before: there was nothing to go on with, so nothing but the checkpoint was looked at, and
   * `result` is what was recorded.
   */
  readonly finished: boolean;
  /** `find_checkpoint`, `verify_environment`, `restore_state`, `resume_execution`, in this order, as far as they were due. */
  readonly steps: readonly RecoveryStep[];
  /** What the run came to. */
  readonly result: RunResult<Output>;
}
