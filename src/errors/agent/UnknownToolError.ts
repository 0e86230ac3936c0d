import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** A tool was offered to the model, now or in the stored run, that the agent does not have. */
export class UnknownToolError extends AgentPersistenceError {
  override readonly code = "unknown_tool";

  constructor(
    readonly toolName: string,
    readonly tools: readonly string[],
  ) {
    const known = tools.length === 0 ? "it has none" : `it has ${quotedList(tools)}`;
    super(
      `The agent has no tool ${quoted(toolName)}: ${known}. Add the tool to "tools" of the agent. If the tool was renamed, add the new name to "tools" of a migration. To offer only some of the tools, call context.llm.configure({ tools }).`,
    );
  }
}
