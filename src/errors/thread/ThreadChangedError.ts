import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * A graph continues from a checkpoint that is no longer the latest one of its thread. The new records were not stored.
 */
export class ThreadChangedError extends AgentPersistenceError {
  constructor(
    override readonly code: "thread_deleted" | "thread_continued",
    readonly threadId: string,
    /** The checkpoint that the graph continues from. */
    readonly checkpointId: string,
  ) {
    super(messages[code](quoted(threadId), quoted(checkpointId)));
  }
}

const messages: Readonly<Record<ThreadChangedError["code"], (thread: string, checkpoint: string) => string>> = {
  thread_deleted: (thread, checkpoint) =>
    `Thread ${thread} no longer has checkpoint ${checkpoint}, because the thread was deleted or pruned while a graph was running. Invoke the graph again to start a new run.`,
  thread_continued: (thread, checkpoint) =>
    `Another process continued thread ${thread} from checkpoint ${checkpoint}. Invoke the graph again to continue from the latest checkpoint, or lock the thread with withThread() while a graph runs.`,
};
