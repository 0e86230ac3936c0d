import type { EnvironmentMismatch } from "../environment/EnvironmentMismatch.ts";

/** What one look came to. */
export type ValidationCheck =
  | {
      readonly ok: true;
      /** Why nothing was looked at; absent: it was, and is as it must be. */
      readonly notChecked?: string;
    }
  | { readonly ok: false; readonly reason: string };

/** What can be said of a stored checkpoint before an agent goes on from it. */
export interface CheckpointValidation {
  readonly agentId: string;
  /** Absent: none was found, or the newest is not known because of damage. */
  readonly checkpointId?: string;
  /** True when no check failed. */
  readonly valid: boolean;
  readonly structural: {
    readonly hasRequiredFields: ValidationCheck;
    /** Its fields, and the records that it is made of, have the shapes they must have. */
    readonly schemaValid: ValidationCheck;
  };
  readonly integrity: {
    /** Every byte that it is made of is the one that was stored. */
    readonly checksumMatch: ValidationCheck;
    /** The large values that it refers to are there and intact. */
    readonly blobsAccessible: ValidationCheck;
  };
  /** Nothing of it is looked at without the `environment` of PersistenceConfig. */
  readonly environmental: {
    readonly workingDirectoryExists: ValidationCheck;
    /** Required files are there, and hold what they held when the checkpoint was saved. */
    readonly filesUnchanged: ValidationCheck;
    /** Required versions and variables. */
    readonly dependenciesAvailable: ValidationCheck;
  };
  /** What the environmental checks found, one by one. */
  readonly mismatches: readonly EnvironmentMismatch[];
}
