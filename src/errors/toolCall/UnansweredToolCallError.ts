import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";
import { quotedList } from "../quotedList.ts";

/** A strategy would end with the text of an answer whose tool calls nobody has made. The output would lack them. */
export class UnansweredToolCallError extends AgentPersistenceError {
  override readonly code = "unanswered_tool_call";

  constructor(
    /** The path of the node that returned the answer. */
    readonly nodeId: string,
    /** The tools that the answer calls. */
    readonly toolNames: readonly string[],
  ) {
    super(
      `The run cannot end after "${nodeId}": the answer of the model calls ${quotedList(toolNames)}, and the edge to "finish" ` +
        `takes only its text. Add an edge before it, { when: hasToolCalls }, to a node that runs callTools. ` +
        `Or offer the model no tools in ${quoted(nodeId)}.`,
    );
  }
}
