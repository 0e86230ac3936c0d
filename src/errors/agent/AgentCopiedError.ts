import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The agent was imported as a copy under the id of the original, which may run, too. Nothing was changed. */
export class AgentCopiedError extends AgentPersistenceError {
  override readonly code = "agent_copied";

  constructor(readonly agentId: string) {
    super(
      `Agent ${quoted(agentId)} is a copy, and its original may still run: both would act under one id. ` +
        `If the original does not run any more, pass takeOver: true to run() or resume(), or call takeOver().`,
    );
  }
}
