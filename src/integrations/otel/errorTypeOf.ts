import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";

/** What `error.type` says: the code of an error of this library, or else its name. Never its message. */
export function errorTypeOf(error: unknown): string {
  // What the tool threw says more than that it threw.
  if (error instanceof ToolFailedError && error.cause instanceof Error) return errorTypeOf(error.cause);
  if (AgentPersistenceError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** Whether an operation only ended because its run went elsewhere or waits. */
export function isOnlyMoved(error: unknown): boolean {
  return AgentPersistenceError.isInstance(error) && ["run_moved", "run_suspended"].includes(error.code);
}
