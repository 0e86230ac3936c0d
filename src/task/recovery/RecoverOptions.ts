import { z } from "zod";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { functionSchema, abortSignalSchema } from "../../internal/options/optionSchemas.ts";
import type { CheckpointValidation } from "../../persistence/read/CheckpointValidation.ts";
import type { EnvironmentMismatch } from "../../persistence/environment/EnvironmentMismatch.ts";
import type { AgentFilter } from "../../persistence/PersistenceFeature.ts";
import type { RecoveryOption } from "../../persistence/environment/RecoveryOption.ts";
import type { RecoveryParticipant } from "../../persistence/environment/RecoveryParticipant.ts";
import type { RecoveryChoice } from "./RecoveryReport.ts";

/** What a person is shown before an agent goes on. */
export interface RecoveryProposal {
  readonly checkpoint: AgentCheckpointData;
  readonly validation: CheckpointValidation;
  readonly chosen: readonly RecoveryChoice[];
}

/** Who is asked about a recovery, and who helps with it. */
export interface RecoveryHandlers {
  /**
   * When `onConfirm` is asked before anything is changed: `"on_mismatch"` (the default) when the environment is not as it
   * was, `"always"`, or `"never"`. With `"always"` there must be an `onConfirm`.
   */
  readonly confirm?: "on_mismatch" | "always" | "never" | undefined;
  /**
   * Chooses what to do about a mismatch, one of `options`: those that somebody here can do. `checkpoint` says which agent it
   * is about. All are chosen before any is carried out. Default: nobody is asked, and the recovery ends with
   * EnvironmentMismatchError.
   */
  readonly onEnvironmentMismatch?:
    | ((
        mismatch: EnvironmentMismatch,
        options: readonly RecoveryOption[],
        checkpoint: AgentCheckpointData,
      ) => RecoveryOption | PromiseLike<RecoveryOption>)
    | undefined;
  /** Returns false to leave the agent as it is. Default: goes on. */
  readonly onConfirm?: ((proposal: RecoveryProposal) => boolean | PromiseLike<boolean>) | undefined;
  /** Who can do more about mismatches than leave things as they are. Default: nobody. */
  readonly participants?: readonly RecoveryParticipant[] | undefined;
}

/** Which agents are recovered, and how. */
export interface RecoverAllOptions extends RecoveryHandlers {
  /** Only agents of which it gives true. Default: all, also those of other definitions in the same storage. */
  readonly only?: AgentFilter | undefined;
  /** Aborting it ends the recovery, or the run, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const handlers = z.object({
  confirm: z.enum(["on_mismatch", "always", "never"]).optional(),
  onEnvironmentMismatch: functionSchema().optional(),
  onConfirm: functionSchema().optional(),
  participants: z.array(z.object({ optionsFor: functionSchema(), prepare: functionSchema() })).optional(),
  signal: abortSignalSchema.optional(),
});

/** What a recovery may be given. */
export const recoverySchema: z.ZodType = handlers.refine(
  ({ confirm, onConfirm }) => confirm !== "always" || onConfirm !== undefined,
  { path: ["onConfirm"], error: 'Invalid input: expected a function to ask, since confirm is "always"' },
);

/** Which agent, and how. */
export interface RecoverOptions extends RecoveryHandlers {
  /** Default: the agent's own id. */
  readonly agentId?: string | undefined;
  /** Aborting it ends the recovery, or the run, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}
