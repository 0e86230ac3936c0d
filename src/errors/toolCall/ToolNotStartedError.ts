import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call was aborted before the tool started, so it took no effect. `cause` is the reason of the abort. */
export class ToolNotStartedError extends AgentPersistenceError {
  override readonly code = "tool_not_started";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    options: { readonly cause: unknown },
  ) {
    super(
      `The call of tool "${toolName}" was aborted before the tool started. Run or resume again to make the call.`,
      options,
    );
  }
}
