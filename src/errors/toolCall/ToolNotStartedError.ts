import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call was aborted before the tool began: it surely did nothing. `cause` is the reason of the abort. */
export class ToolNotStartedError extends AgentPersistenceError {
  override readonly code = "tool_not_started";
  readonly toolName: string;
  readonly toolCallId: string;

  constructor(toolName: string, toolCallId: string, options: { readonly cause: unknown }) {
    super(
      `The call of tool "${toolName}" was aborted before the tool began. Run or resume again to have it called.`,
      options,
    );
    this.toolName = toolName;
    this.toolCallId = toolCallId;
  }
}
