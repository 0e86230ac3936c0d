import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A call was to be settled that is not in doubt. Nothing has changed. */
export class ToolCallNotInDoubtError extends AgentPersistenceError {
  override readonly code = "tool_call_not_in_doubt";

  constructor(
    readonly agentId: string,
    readonly toolCallId: string,
    /** `true` when the call has ended; `false` when no call with this id is recorded. */
    readonly ended: boolean,
    /** The calls of the agent that are in doubt. */
    readonly inDoubt: readonly { readonly toolCallId: string; readonly toolName: string }[],
  ) {
    const found = ended ? "it has ended" : "no call with this id is recorded";
    const calls = inDoubt.map((call) => `${call.toolCallId} (${call.toolName})`).join(", ");
    super(
      `Tool call ${quoted(toolCallId)} of agent ${quoted(agentId)} is not in doubt: ${found}. ` +
        (calls === "" ? "The agent has no call to settle." : `Settle one of the calls in doubt: ${calls}.`),
    );
  }
}
