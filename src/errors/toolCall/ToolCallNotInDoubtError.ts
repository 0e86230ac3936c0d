import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A call was to be settled that is not in doubt. Nothing has changed. */
export class ToolCallNotInDoubtError extends AgentPersistenceError {
  override readonly code = "tool_call_not_in_doubt";
  readonly agentId: string;
  readonly toolCallId: string;
  /** True when a call of this id has ended; false when none of this id is recorded. */
  readonly ended: boolean;
  /** The calls of the agent that are in doubt. */
  readonly inDoubt: readonly { readonly toolCallId: string; readonly toolName: string }[];

  constructor(agentId: string, toolCallId: string, ended: boolean, inDoubt: ToolCallNotInDoubtError["inDoubt"]) {
    const found = ended ? "it has ended" : "no call of this id is recorded";
    const calls = inDoubt.map((call) => `${call.toolCallId} (${call.toolName})`).join(", ");
    super(
      `Tool call ${JSON.stringify(toolCallId)} of agent ${JSON.stringify(agentId)} is not in doubt: ${found}. ` +
        (calls === "" ? "No call of this agent is." : `In doubt are: ${calls}.`),
    );
    this.agentId = agentId;
    this.toolCallId = toolCallId;
    this.ended = ended;
    this.inDoubt = inDoubt;
  }
}
