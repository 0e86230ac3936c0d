import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** The agent that is recovered. Participants can store notes in its log. */
export interface RecoveredAgent {
  /** Stores a value in the agent's log. The value is durable when the promise resolves. */
  note(note: { readonly key: string; readonly value: unknown }): Promise<void>;
  /** Returns the values noted under a key in the last run, oldest first. */
  getNotes(key: string): Promise<readonly unknown[]>;
}

/** Resolves mismatches, for example of files or a repository. */
export interface RecoveryParticipant {
  /** Finds additional mismatches, such as new commits upstream. */
  findMismatches?(checkpoint: AgentCheckpointData, agent: RecoveredAgent): Promise<readonly EnvironmentMismatch[]>;
  /**
   * Returns whether the agent itself caused a mismatch after the checkpoint. If so, the resumed run expects the
   * mismatch, and `onEnvironmentMismatch` is not called. Defaults to false.
   */
  isOwnWork?(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<boolean>;
  /** Returns the options that the participant can carry out or record for a mismatch. Must not change data. */
  optionsFor(
    mismatch: EnvironmentMismatch,
    checkpoint: AgentCheckpointData,
  ): readonly RecoveryOption[] | PromiseLike<readonly RecoveryOption[]>;
  /**
   * Prepares an option. Must not change data. If it rejects, the recovery rejects.
   *
   * @returns a function that carries out the option. This function is called when all options are chosen, prepared and
   * confirmed. If it rejects, the recovery ends and the agent is unchanged.
   */
  prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
    agent: RecoveredAgent,
  ): Promise<() => Promise<void>>;
}

/** A reaction to a mismatch. */
export type RecoveryOption =
  | "use_current"
  | "use_checkpoint"
  | "merge"
  | "restore"
  | "skip"
  | "ignore"
  | "rebase"
  | "abort";

/** The options for each kind of mismatch, whether or not a participant can carry them out. */
export const recoveryOptions: Readonly<Record<EnvironmentMismatch["kind"], readonly RecoveryOption[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
  new_commits_upstream: ["ignore", "rebase", "abort"],
  environment_not_satisfied: ["ignore", "abort"],
  working_directory_missing: ["ignore", "abort"],
};

/** Options that change no data and therefore need no participant. */
export const needsNobody: ReadonlySet<RecoveryOption> = new Set(["use_current", "skip", "ignore", "abort"]);
