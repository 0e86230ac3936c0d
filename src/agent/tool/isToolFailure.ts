import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCall/ToolOutcomeUnknownError.ts";

/** Whether something thrown is how a tool call ended: node code may catch it, and a model is told its `reason`. */
export function isToolFailure(error: unknown): error is ToolFailedError | ToolOutcomeUnknownError {
  return error instanceof ToolFailedError || error instanceof ToolOutcomeUnknownError;
}
