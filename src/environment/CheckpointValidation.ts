import type { TornTail } from "../checkpoint/records/Entry.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

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
  /** Omitted if the agent has no checkpoint, or if the latest one is in the damaged part of the log. */
  readonly checkpointId?: string;
  /** Whether all checks succeeded. */
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
     * The log contains all acknowledged appends. Not checked if the last owner did not close the log, for example after
     * a crash, because lost appends cannot then be detected.
     */
    readonly logComplete: ValidationCheck;
  };
  /** The incomplete append at the end of the log, if any. */
  readonly tornTail?: TornTail;
  /** Without the `environment` of PersistenceConfig, only participants compare files. */
  readonly environmental: {
    readonly workingDirectoryExists: ValidationCheck;
    /** Required files are as at the checkpoint. Files that the last run changed are as the run left them. */
    readonly filesUnchanged: ValidationCheck;
    /** Required versions and environment variables are present. */
    readonly dependenciesAvailable: ValidationCheck;
  };
  readonly mismatches: readonly EnvironmentMismatch[];
}
