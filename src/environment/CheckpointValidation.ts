import type { TornTail } from "../checkpoint/records/Entry.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** The result of one check. */
export type ValidationCheck =
  | {
      readonly ok: true;
      /** The parts that were not checked, and why. Omitted if the check is complete. */
      readonly notChecked?: string;
    }
  | { readonly ok: false; readonly reason: string };

/** Whether an agent can continue from a stored checkpoint. */
export interface CheckpointValidation {
  readonly agentId: string;
  /** Omitted if the agent has no checkpoint, or if damage hides the latest one. */
  readonly checkpointId?: string;
  /** True if no check failed. */
  readonly valid: boolean;
  readonly structural: {
    readonly hasRequiredFields: ValidationCheck;
    /** The fields and records of the checkpoint are valid. */
    readonly schemaValid: ValidationCheck;
  };
  readonly integrity: {
    /** The stored bytes match their checksums. */
    readonly checksumMatch: ValidationCheck;
    /** The large values of the checkpoint exist and are intact. */
    readonly blobsAccessible: ValidationCheck;
    /**
     * The end of the log is complete. This is not checked if the last owner did not close the log, for example after a
     * crash, because lost appends then look like appends that were never made.
     */
    readonly logComplete: ValidationCheck;
  };
  /** The incomplete append at the end of the log, if any. */
  readonly tornTail?: TornTail;
  /** Without the `environment` of PersistenceConfig, only the participants compare files that the agent changed. */
  readonly environmental: {
    readonly workingDirectoryExists: ValidationCheck;
    /** Required files are unchanged since the checkpoint. Files that the last run changed are as the run left them. */
    readonly filesUnchanged: ValidationCheck;
    /** Required versions and environment variables are available. */
    readonly dependenciesAvailable: ValidationCheck;
  };
  /** All findings of the environmental checks. */
  readonly mismatches: readonly EnvironmentMismatch[];
}
