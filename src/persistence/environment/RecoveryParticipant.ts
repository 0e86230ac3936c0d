import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** Who can do something about mismatches: files, a repository. */
export interface RecoveryParticipant {
  /** What it finds that is not as a checkpoint needs it, such as new commits upstream. Absent: nothing. */
  findMismatches?(checkpoint: AgentCheckpointData): Promise<readonly EnvironmentMismatch[]>;
  /**
   * Whether a mismatch is what the agent itself did after the checkpoint, and so as the run that goes on expects it: nobody
   * is asked about it. Absent: none is.
   */
  isOwnWork?(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<boolean>;
  /** Which options it can carry out for a mismatch; none of them is carried out by being asked. */
  optionsFor(
    mismatch: EnvironmentMismatch,
    checkpoint: AgentCheckpointData,
  ): readonly RecoveryOption[] | PromiseLike<readonly RecoveryOption[]>;
  /**
   * Gets ready for one of them; changes nothing. A rejection refuses the recovery.
   *
   * @returns what carries it out, once everything is chosen, ready and confirmed. Its rejection ends the recovery; the agent
   *   stays as it was.
   */
  prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
  ): Promise<() => Promise<void>>;
}

/** What can be done about a mismatch. */
export type RecoveryOption =
  | "use_current"
  | "use_checkpoint"
  | "merge"
  | "restore"
  | "skip"
  | "ignore"
  | "rebase"
  | "abort";

/** What there is to choose from for each kind of mismatch, whether or not somebody is there who can do it. */
export const recoveryOptions: Readonly<Record<EnvironmentMismatch["kind"], readonly RecoveryOption[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
  new_commits_upstream: ["ignore", "rebase", "abort"],
  environment_not_satisfied: ["ignore", "abort"],
  working_directory_missing: ["ignore", "abort"],
};

/** What leaves things as they are needs nobody to do it. */
export const needsNobody: ReadonlySet<RecoveryOption> = new Set(["use_current", "skip", "ignore", "abort"]);
