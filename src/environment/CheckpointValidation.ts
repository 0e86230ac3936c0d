import type { TornTail } from "../checkpoint/format/TornTail.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** The result of one check. */
export type ValidationCheck =
  | {
      readonly ok: true;
      /** What was not examined, and why; absent: everything was. */
      readonly notChecked?: string;
    }
  | { readonly ok: false; readonly reason: string };

/** Whether an agent can continue from a stored checkpoint. */
export interface CheckpointValidation {
  readonly agentId: string;
  /** Absent: none was found, or damage hides which one is the latest. */
  readonly checkpointId?: string;
  /** True when no check failed. */
  readonly valid: boolean;
  readonly structural: {
    readonly hasRequiredFields: ValidationCheck;
    /** Its fields and records have valid shapes. */
    readonly schemaValid: ValidationCheck;
  };
  readonly integrity: {
    /** Its bytes match their checksums. */
    readonly checksumMatch: ValidationCheck;
    /** The large values that it refers to exist and are intact. */
    readonly blobsAccessible: ValidationCheck;
    /**
     * Nothing is missing at the end of the log. Not checked while its last owner has not closed it, as after a crash:
     * appends that are gone cannot be told from appends that were never made.
     */
    readonly logComplete: ValidationCheck;
  };
  /** What the log has of an append without its end. Absent: nothing. */
  readonly tornTail?: TornTail;
  /**
   * Without the `environment` of PersistenceConfig only the files that the agent changed are compared, by its participants.
   */
  readonly environmental: {
    readonly workingDirectoryExists: ValidationCheck;
    /**
     * Required files exist and are unchanged since the checkpoint was saved, and the files that the last run changed are as
     * it left them.
     */
    readonly filesUnchanged: ValidationCheck;
    /** Required versions and variables. */
    readonly dependenciesAvailable: ValidationCheck;
  };
  /** Everything that the environmental checks found. */
  readonly mismatches: readonly EnvironmentMismatch[];
}
