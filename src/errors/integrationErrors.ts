import { AgentPersistenceError, quoted } from "./AgentPersistenceError.ts";

/** A transaction does not match the history of a session. The session is unchanged. */
export class SessionConflictError extends AgentPersistenceError {
  override readonly code = "session_conflict";

  constructor(
    readonly sessionId: string,
    readonly operationId: string,
    /** `operation_reused`: another transaction has the same id. `suffix_differs`: the session ends with other items. */
    readonly problem: "operation_reused" | "suffix_differs",
  ) {
    const found =
      problem === "operation_reused"
        ? "the operation was already applied with a different transaction. Give each transaction a unique id."
        : "the expected suffix no longer matches the items of the session. Read the items again before you retry.";
    super(`Session ${quoted(sessionId)} rejected transaction ${quoted(operationId)}: ${found}`);
  }
}

/** A graph continues from a checkpoint that is no longer the latest of its thread. Nothing was stored. */
export class ThreadChangedError extends AgentPersistenceError {
  constructor(
    override readonly code: "thread_deleted" | "thread_continued",
    readonly threadId: string,
    /** The checkpoint that the graph continues from. */
    readonly checkpointId: string,
  ) {
    super(threadMessages[code](quoted(threadId), quoted(checkpointId)));
  }
}

const threadMessages: Readonly<Record<ThreadChangedError["code"], (thread: string, checkpoint: string) => string>> = {
  thread_deleted: (thread, checkpoint) =>
    `Thread ${thread} no longer has checkpoint ${checkpoint}, because the thread was deleted or pruned while a graph was running. Invoke the graph again to start a new run.`,
  thread_continued: (thread, checkpoint) =>
    `Another process continued thread ${thread} from checkpoint ${checkpoint}. Invoke the graph again to continue from the latest checkpoint, or lock the thread with withThread() while a graph runs.`,
};

/** A durable tool was called in a context where the call cannot be recorded. The tool did not run. */
export class ToolOutsideThreadError extends AgentPersistenceError {
  override readonly code = "tool_outside_thread";

  constructor(
    readonly toolName: string,
    /**
     * Why the call cannot be recorded. `no_graph`: the caller is not a node of a graph. `other_checkpointer`: the graph
     * uses another checkpointer. `checkpoint_not_stored`: the graph does not store its checkpoint before its nodes run.
     */
    readonly where: "no_graph" | "other_checkpointer" | "checkpoint_not_stored",
  ) {
    super(`The durable tool ${quoted(toolName)} was called ${placesOutside[where]}`);
  }
}

const placesOutside: Readonly<Record<ToolOutsideThreadError["where"], string>> = {
  no_graph:
    "outside a graph node, so its call cannot be recorded. Call it in a node of a graph that runs on a thread. If AsyncLocalStorage is not available, pass the config of the node. Outside a graph, call the original tool that you passed to durableTools.",
  other_checkpointer:
    "in a graph that does not store its thread with the checkpointer of the tool. Compile the graph with the checkpointer that you passed to durableTools, or call the original tool.",
  checkpoint_not_stored:
    'in a graph that does not store its checkpoint before its nodes run, so the recorded call would be lost. Invoke the graph with a thread_id and with durability "sync" or "async", and compile subgraphs without "checkpointer: false".',
};
