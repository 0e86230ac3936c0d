import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Two definitions without an id of their own use one storage: they would continue each other's runs. Nothing has changed. */
export class DefaultIdSharedError extends AgentPersistenceError {
  override readonly code = "default_id_shared";

  constructor(
    /** The default id. */
    readonly agentId: string,
  ) {
    super(
      `Another definition without an id uses the same storage as agent ${quoted(agentId)}: the two differ in ` +
        `their strategy, their tools or their system prompt, and would continue each other's runs. ` +
        `Give each definition an id, new AIAgent({ id: "support", … }), or pass agentId to each call.`,
    );
  }
}
