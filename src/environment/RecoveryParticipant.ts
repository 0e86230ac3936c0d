import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";

/** The agent that is recovered, for what its participants record about it. */
export interface RecoveredAgent {
  /** Stores a value in the agent's log; durable when it resolves. */
  note(note: { readonly key: string; readonly value: unknown }): Promise<void>;
  /** The values noted under a key in the last run, oldest first. */
  getNotes(key: string): Promise<readonly unknown[]>;
}

/** Resolves mismatches, of files or a repository for example. */
export interface RecoveryParticipant {
  /** Finds mismatches of its own, such as new commits upstream. Absent: none. */
  findMismatches?(checkpoint: AgentCheckpointData, agent: RecoveredAgent): Promise<readonly EnvironmentMismatch[]>;
  /**
   * Whether the agent itself caused a mismatch after the checkpoint. The resumed run expects it, so `onEnvironmentMismatch`
   * is not called for it. Absent: never.
   */
  isOwnWork?(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<boolean>;
  /** Returns the options that it can carry out for a mismatch, and those that it only records; changes nothing. */
  optionsFor(
    mismatch: EnvironmentMismatch,
    checkpoint: AgentCheckpointData,
  ): readonly RecoveryOption[] | PromiseLike<readonly RecoveryOption[]>;
  /**
   * Prepares one of them; changes nothing. If it rejects, the recovery is refused.
   *
   * @returns a function that carries it out, called once everything is chosen, prepared and confirmed. If it rejects, the
   *   recovery ends and the agent is unchanged.
   */
  prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
    agent: RecoveredAgent,
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

/** The options for each kind of mismatch, whether or not a participant can carry them out. */
export const recoveryOptions: Readonly<Record<EnvironmentMismatch["kind"], readonly RecoveryOption[]>> = {
  file_modified_externally: ["use_current", "use_checkpoint", "merge", "abort"],
  file_deleted: ["restore", "skip", "abort"],
  new_commits_upstream: ["ignore", "rebase", "abort"],
  environment_not_satisfied: ["ignore", "abort"],
  working_directory_missing: ["ignore", "abort"],
};

/** Options that change nothing, and so need no participant. */
export const needsNobody: ReadonlySet<RecoveryOption> = new Set(["use_current", "skip", "ignore", "abort"]);
