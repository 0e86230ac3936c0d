import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The call to settle is not in doubt. The stored state is unchanged. */
export class ToolCallNotInDoubtError extends AgentPersistenceError {
  override readonly code = "tool_call_not_in_doubt";

  constructor(
    readonly agentId: string,
    readonly toolCallId: string,
    /** `true` if the call has an outcome, `false` if the log has no call with this id. */
    readonly ended: boolean,
    /** The calls of the agent that are in doubt. */
    readonly inDoubt: readonly { readonly toolCallId: string; readonly toolName: string }[],
  ) {
    const found = ended ? "its outcome is recorded" : "no call with this id is recorded";
    const calls = inDoubt.map((call) => `${call.toolCallId} (${call.toolName})`).join(", ");
    super(
      `Tool call ${quoted(toolCallId)} of agent ${quoted(agentId)} is not in doubt: ${found}. ` +
        (calls === "" ? "The agent has no call to settle." : `Settle one of the calls in doubt: ${calls}.`),
    );
  }
}
