import type { AgentContext } from "../../agent/context/AgentContext.ts";

/** How to roll back. */
export interface RollbackOptions {
  /** Default: the context that this object is bound to. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * `default`: messages, node, input, storage and iteration go back, and the inverses of what was done since are run.
   * `message_history_only`: only the messages go back; the current node runs again from its start, and effects stand.
   */
  readonly rollbackStrategy?: "default" | "message_history_only" | undefined;
}
