import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * Two agent definitions without an explicit id use the same storage, so each would continue the runs of the other. The
 * stored state is unchanged.
 */
export class DefaultIdSharedError extends AgentPersistenceError {
  override readonly code = "default_id_shared";

  constructor(readonly agentId: string) {
    super(
      `Another definition without an id uses the same storage as agent ${quoted(agentId)}, but has a different ` +
        `strategy, tools or system prompt. Each would continue the runs of the other. ` +
        `Give each definition an id, new AIAgent({ id: "support", … }), or pass agentId to each call.`,
    );
  }
}
