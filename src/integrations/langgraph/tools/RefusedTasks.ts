import type { CheckpointPlace } from "../write/checkpointRecords.ts";
import type { TaskPlace } from "./TaskPlace.ts";

/** The maximum number of kept tasks. A task that never runs again would otherwise stay in memory. */
const mostTasks = 1000;

interface Refused extends TaskPlace {
  readonly error: unknown;
  /** Whether the run has received the error. */
  isReported: boolean;
}

/**
 * Tasks with an error that must end the run, such as a call in doubt. A node can catch the error or pass it to the
 * model. So the results of the task are not stored, and the run rejects with the error.
 */
export class RefusedTasks {
  #refused: readonly Refused[] = [];

  add(place: TaskPlace, error: unknown): void {
    this.#refused = [...this.#refused, { ...place, error, isReported: false }].slice(-mostTasks);
  }

  /** Forgets the error of a task that runs again. */
  begin({ threadId, task }: TaskPlace): void {
    this.#forget((refused) => refused.threadId === threadId && refused.task === task);
  }

  /** Forgets the errors that a run has received, because the graph is read for another run. */
  read(threadId: string, namespace: string): void {
    this.#forget((refused) => refused.isReported && refused.threadId === threadId && refused.namespace === namespace);
  }

  /** Notes that the graph has stored the error of a task. The graph then stores no results of the task. */
  failed(threadId: string, task: string): void {
    for (const refused of this.#refused)
      if (refused.threadId === threadId && refused.task === task) refused.isReported = true;
  }

  /** @param task - defaults to any task. @throws the error of a task that follows this checkpoint */
  assertNone(threadId: string, { namespace, id }: CheckpointPlace, task?: string): void {
    const found = this.#refused.find(
      (refused) =>
        refused.threadId === threadId &&
        refused.namespace === namespace &&
        refused.checkpointId === id &&
        (task === undefined || refused.task === task),
    );
    if (!found) return;
    found.isReported = true;
    throw found.error;
  }

  #forget(isForgotten: (refused: Refused) => boolean): void {
    if (this.#refused.length > 0) this.#refused = this.#refused.filter((refused) => !isForgotten(refused));
  }
}
