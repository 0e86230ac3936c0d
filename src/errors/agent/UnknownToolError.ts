import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** A tool was offered to the model, now or in the stored run, that is not one of the agent's tools. */
export class UnknownToolError extends AgentPersistenceError {
  override readonly code = "unknown_tool";

  constructor(
    readonly toolName: string,
    /** The names of the agent's tools. */
    readonly tools: readonly string[],
  ) {
    const known = tools.length === 0 ? "it has none" : `it has ${quotedList(tools)}`;
    super(
      `The agent has no tool ${quoted(toolName)} that a resumed run could find again: ${known}. Add the tool to the agent's "tools"; if it was renamed, say so in "tools" of a migration; to offer fewer at a time, call context.llm.configure({ tools }).`,
    );
  }
}
