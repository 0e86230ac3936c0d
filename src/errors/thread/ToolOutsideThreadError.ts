import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A durable tool was called in a context where the call cannot be recorded. The tool did not run. */
export class ToolOutsideThreadError extends AgentPersistenceError {
  override readonly code = "tool_outside_thread";

  constructor(
    readonly toolName: string,
    /**
     * The reason. The caller is not a node of a graph, the graph uses another checkpointer, or the graph does not store
     * its checkpoint before its nodes run.
     */
    readonly where: "no_graph" | "other_checkpointer" | "checkpoint_not_stored",
  ) {
    super(`The durable tool ${quoted(toolName)} was called ${messages[where]}`);
  }
}

const messages: Readonly<Record<ToolOutsideThreadError["where"], string>> = {
  no_graph:
    "outside a graph node, so its call cannot be recorded. Call it in a node of a graph that runs on a thread. If AsyncLocalStorage is not available, pass the config of the node. Outside a graph, call the original tool that you passed to durableTools.",
  other_checkpointer:
    "in a graph that does not store its thread with the checkpointer of the tool. Compile the graph with the checkpointer that you passed to durableTools, or call the original tool.",
  checkpoint_not_stored:
    'in a graph that does not store its checkpoint before its nodes run, so the recorded call would be lost. Invoke the graph with durability "sync" or "async", and compile subgraphs without "checkpointer: false".',
};
