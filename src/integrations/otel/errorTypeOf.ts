import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { ToolFailedError } from "../../errors/toolCallErrors.ts";

/**
 * Returns the value of `error.type`: the code of a library error, otherwise the name of the error. Never the message.
 */
export function errorTypeOf(error: unknown): string {
  // The error that the tool threw is more specific.
  if (error instanceof ToolFailedError && error.cause instanceof Error) return errorTypeOf(error.cause);
  if (AgentPersistenceError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** Returns whether an operation ended only because its run moved or waits. */
export function isOnlyMoved(error: unknown): boolean {
  return AgentPersistenceError.isInstance(error) && ["run_moved", "run_suspended"].includes(error.code);
}
