import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** The agent that is recovered, in whose log participants can store notes. */
export interface RecoveredAgent {
  /** Stores a value in the agent's log. The value is durable when the promise resolves. */
  note(note: { readonly key: string; readonly value: unknown }): Promise<void>;
  /** Returns the values noted under a key in the last run, oldest first. */
  getNotes(key: string): Promise<readonly unknown[]>;
}

/** Finds and resolves differences between the environment and a checkpoint, for example of files or a repository. */
export interface RecoveryParticipant {
  /** Finds additional mismatches, such as new commits upstream. */
  findMismatches?(checkpoint: AgentCheckpointData, agent: RecoveredAgent): Promise<readonly EnvironmentMismatch[]>;
  /**
   * Returns whether the agent caused a mismatch after the checkpoint. The resumed run then expects the mismatch, and
   * `onEnvironmentMismatch` is not called. Defaults to `false`.
   */
  isOwnWork?(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<boolean>;
  /** Returns the options for a mismatch that the participant supports. Must not change data. */
  optionsFor(
    mismatch: EnvironmentMismatch,
    checkpoint: AgentCheckpointData,
  ): readonly RecoveryOption[] | PromiseLike<readonly RecoveryOption[]>;
  /**
   * Prepares an option. Must not change data. If it rejects, the recovery rejects.
   *
   * @returns a function that carries out the option, called when all options are chosen, prepared and confirmed. If it
   *   rejects, the recovery ends and the agent is unchanged.
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

/** The possible options for each kind of mismatch, even if no participant supports them. */
export const recoveryOptions: Readonly<Record<EnvironmentMismatch["kind"], readonly RecoveryOption[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
  new_commits_upstream: ["ignore", "rebase", "abort"],
  environment_not_satisfied: ["ignore", "abort"],
  working_directory_missing: ["ignore", "abort"],
};

/** Options that need no participant, because they change no data. */
export const needsNobody: ReadonlySet<RecoveryOption> = new Set(["use_current", "skip", "ignore", "abort"]);
