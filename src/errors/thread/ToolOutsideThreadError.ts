import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A durable tool was called where nothing can be recorded of it. The tool was not called. */
export class ToolOutsideThreadError extends AgentPersistenceError {
  override readonly code = "tool_outside_thread";

  constructor(
    readonly toolName: string,
    /** Why not: it was called by no node of a graph, by one of a graph with another checkpointer, or by one whose checkpoints are not stored as it goes. */
    readonly where: "no_graph" | "other_checkpointer" | "checkpoint_not_stored",
  ) {
    super(`The durable tool ${quoted(toolName)} was called ${messages[where]}`);
  }
}

const messages: Readonly<Record<ToolOutsideThreadError["where"], string>> = {
  no_graph:
    "outside of a node of a graph, so its call cannot be recorded. Call it in a node of a graph that runs on a thread, and pass it the config of the node where AsyncLocalStorage is not available. Elsewhere, call the tool that durableTools was given.",
  other_checkpointer:
    "in a graph that does not store its thread with the checkpointer of the tool. Compile the graph with the checkpointer that durableTools was given, or call the tool that durableTools was given.",
  checkpoint_not_stored:
    'in a graph whose checkpoint is not stored before its nodes run, so its call could not be found again. Invoke the graph with durability "sync" or "async", and compile subgraphs without "checkpointer: false".',
};
