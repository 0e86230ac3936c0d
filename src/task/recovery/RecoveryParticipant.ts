import type { AgentCheckpointData } from "../../checkpoint/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "../../persistence/EnvironmentMismatch.ts";
import type { RecoveryOption } from "./RecoveryOption.ts";

/** Who can do something about mismatches: files, a repository. */
export interface RecoveryParticipant {
  /** What it finds that is not as a checkpoint needs it, such as new commits upstream. Absent: nothing. */
  findMismatches?(checkpoint: AgentCheckpointData): Promise<readonly EnvironmentMismatch[]>;
  /** Which options it can carry out for a mismatch; none of them is carried out by being asked. */
  optionsFor(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): readonly RecoveryOption[];
  /** Carries out one of them. A rejection ends the recovery; the agent stays as it was. */
  apply(mismatch: EnvironmentMismatch, option: RecoveryOption, checkpoint: AgentCheckpointData): Promise<void>;
}
