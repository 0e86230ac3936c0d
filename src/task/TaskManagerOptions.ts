import type { TaskStatus } from "../checkpoint/status/TaskStatus.ts";
import type { Clock } from "../internal/Clock.ts";
import type { PersistenceListener } from "../persistence/events/PersistenceEvent.ts";
import type { ListenerErrorHandler } from "../persistence/events/notifyListener.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";

/** Where tasks are kept. */
export interface TaskManagerOptions {
  /** One with a `RecordLog`; the same that the agents of the tasks have. */
  readonly storage: PersistenceStorageProvider<never>;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
  /**
   * Is told of the moves that are made by this manager: `status_changed`, and `checkpoint_saved` for the end of a run, after
   * they are durable. What a run does is told to the `onEvent` of its agent. It is not waited for. Default: nobody is told.
   */
  readonly onEvent?: PersistenceListener | undefined;
  /** Gets what `onEvent` throws or rejects with; nothing else comes of it. Default: a warning of the process. */
  readonly onListenerError?: ListenerErrorHandler | undefined;
}

/** Which tasks to list. */
export interface TaskFilter {
  /** Only tasks of this status. Default: of any. */
  readonly status?: TaskStatus | undefined;
  /** At most this many. Default: all. */
  readonly limit?: number | undefined;
  /** Which part of them, each `limit` long, counted from 1. Default 1. */
  readonly page?: number | undefined;
}

/** How a running task is interrupted. */
export interface InterruptTaskOptions {
  /** How long to wait until the process that runs it has let go of it, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** How a task is paused. */
export interface PauseTaskOptions extends InterruptTaskOptions {
  /** What whoever resumes it should know or do. */
  readonly resumeInstructions?: string | undefined;
  /** False: it is paused only while it does not run, else the call rejects with `AgentBusyError`. Default true. */
  readonly interrupt?: boolean | undefined;
}
