import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCall/ToolOutcomeUnknownError.ts";

/** Whether an error is the outcome of a tool call: node code may catch it, and the model gets its `reason`. */
export function isToolFailure(error: unknown): error is ToolFailedError | ToolOutcomeUnknownError {
  return error instanceof ToolFailedError || error instanceof ToolOutcomeUnknownError;
}
