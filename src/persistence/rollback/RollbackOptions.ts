import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { OnRevertFailure } from "./RollbackReport.ts";

/** Options of a rollback. */
export interface RollbackOptions {
  /** Defaults to the bound context. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * `default` restores messages, node, input, storage and iteration count, and runs the inverses of all later calls.
   * `message_history_only` restores only the messages, and the current node runs again from its start. Effects remain.
   */
  readonly rollbackStrategy?: "default" | "message_history_only" | undefined;
  /**
   * The reaction to a call or a participant's step that cannot be reverted. `stop`: the rollback rejects with
   * RollbackIncompleteError and stays open. `leave`: the effect remains and is reported, and the rollback continues.
   * Defaults to `stop`.
   */
  readonly onFailure?: OnRevertFailure | undefined;
}

const optionsSchema = strictOptions(() => ({
  agentContext: z.unknown().optional(),
  rollbackStrategy: z.enum(["default", "message_history_only"]).optional(),
  onFailure: z.enum(["stop", "leave"]).optional(),
}));

/**
 * Returns whether only the messages are rolled back.
 *
 * @throws InvalidInputError for an unknown strategy, which would otherwise run inverses.
 */
export function isHistoryOnly(options: RollbackOptions): boolean {
  checkSchema(optionsSchema, options, "options of a rollback");
  return options.rollbackStrategy === "message_history_only";
}
