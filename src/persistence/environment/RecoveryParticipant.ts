import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "./EnvironmentMismatch.ts";
import type { RecoveryOption } from "./RecoveryOption.ts";

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
