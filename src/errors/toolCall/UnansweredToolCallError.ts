import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";
import { quotedList } from "../quotedList.ts";

/**
 * A strategy would return the text of a response that also contains tool calls that were not made. The output would
 * lack the results of these calls.
 */
export class UnansweredToolCallError extends AgentPersistenceError {
  override readonly code = "unanswered_tool_call";

  constructor(
    /** The path of the node that returned the response. */
    readonly nodeId: string,
    /** The names of the called tools. */
    readonly toolNames: readonly string[],
  ) {
    super(
      `The run cannot finish after "${nodeId}", because the model response calls ${quotedList(toolNames)} and the edge to "finish" ` +
        `uses only the text. Before that edge, add an edge with { when: hasToolCalls } to a node that runs callTools. ` +
        `Or do not offer tools to the model in ${quoted(nodeId)}.`,
    );
  }
}
