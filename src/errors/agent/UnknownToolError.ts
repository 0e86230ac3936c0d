import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool was to be offered to the model, or is offered in a stored run, that is not one of the agent's. */
export class UnknownToolError extends AgentPersistenceError {
  override readonly code = "unknown_tool";
  readonly toolName: string;
  /** The names of the agent's tools. */
  readonly tools: readonly string[];

  constructor(toolName: string, tools: readonly string[]) {
    const list = tools.length === 0 ? "it has none" : `it has ${tools.map((name) => `"${name}"`).join(", ")}`;
    super(
      `The agent has no tool "${toolName}" that a resumed run could find again: ${list}. Add the tool to the agent's "tools"; offer fewer at a time with context.llm.configure({ tools }).`,
    );
    this.toolName = toolName;
    this.tools = tools;
  }
}
