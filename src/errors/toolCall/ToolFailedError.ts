import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool threw. `cause` is what it threw; absent when the failure was read back from a log. */
export class ToolFailedError extends AgentPersistenceError {
  override readonly code = "tool_failed";
  readonly toolName: string;
  readonly toolCallId: string;
  /** The message of what the tool threw: what the model is told. */
  readonly reason: string;

  constructor(toolName: string, toolCallId: string, reason: string, options?: { readonly cause?: unknown }) {
    super(`The tool "${toolName}" failed: ${reason}`, options);
    this.toolName = toolName;
    this.toolCallId = toolCallId;
    this.reason = reason;
  }
}
