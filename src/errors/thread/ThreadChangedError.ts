import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A graph goes on from a checkpoint that its thread has left behind. Nothing was stored. */
export class ThreadChangedError extends AgentPersistenceError {
  constructor(
    override readonly code: "thread_deleted" | "thread_continued",
    readonly threadId: string,
    /** The checkpoint that the graph goes on from. */
    readonly checkpointId: string,
  ) {
    super(messages[code](quoted(threadId), quoted(checkpointId)));
  }
}

const messages: Readonly<Record<ThreadChangedError["code"], (thread: string, checkpoint: string) => string>> = {
  thread_deleted: (thread, checkpoint) =>
    `Thread ${thread} no longer has checkpoint ${checkpoint}: it was deleted or pruned while a graph was running on it. Invoke the graph again to begin anew.`,
  thread_continued: (thread, checkpoint) =>
    `Thread ${thread} went on from checkpoint ${checkpoint} in another process. Invoke the graph again to continue from the latest checkpoint, or hold the thread with withThread() while a graph runs.`,
};
