import { AgentPersistenceError } from "./AgentPersistenceError.ts";

/** A tool call began before a crash and nobody knows whether it had its effect. The run stopped before it could be repeated. */
export class ToolCallInDoubtError extends AgentPersistenceError {
  readonly code = "tool_call_in_doubt";
  readonly toolName: string;
  readonly toolCallId: string;
  readonly nodeId: string;

  constructor(toolName: string, toolCallId: string, nodeId: string) {
    super(
      `Tool call ${toolCallId} of "${toolName}" in node "${nodeId}" began and has no recorded outcome: it may have had its effect. ` +
        `If it is safe to repeat with the same toolCallId, declare it so: tool({ name: ${JSON.stringify(toolName)}, effect: "idempotent", … }). ` +
        `Otherwise look at the outside world, then roll back to an earlier checkpoint.`,
    );
    this.toolName = toolName;
    this.toolCallId = toolCallId;
    this.nodeId = nodeId;
  }
}
