import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An agent was given two tools of one name. */
export class DuplicateToolError extends AgentPersistenceError {
  override readonly code = "duplicate_tool";
  readonly toolName: string;

  constructor(toolName: string) {
    super(`The agent was given two tools named "${toolName}". The model tells tools apart by name: rename one.`);
    this.toolName = toolName;
  }
}
