import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** The result of one check. */
export type ValidationCheck =
  | {
      readonly ok: true;
      /** Why nothing was checked; absent: the check passed. */
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
  };
  /** Not checked without the `environment` of PersistenceConfig. */
  readonly environmental: {
    readonly workingDirectoryExists: ValidationCheck;
    /** Required files exist and are unchanged since the checkpoint was saved. */
    readonly filesUnchanged: ValidationCheck;
    /** Required versions and variables. */
    readonly dependenciesAvailable: ValidationCheck;
  };
  /** Everything that the environmental checks found. */
  readonly mismatches: readonly EnvironmentMismatch[];
}
