import type { CheckpointPlace } from "../write/checkpointRecords.ts";
import type { TaskPlace } from "./TaskPlace.ts";

/** Limits memory, because a task that never runs again would never be removed. */
const mostTasks = 1000;

interface Refused extends TaskPlace {
  readonly error: unknown;
  /** Whether the run got the error. */
  isReported: boolean;
}

/**
 * Tasks with an error that ends the run, such as a call in doubt. The node may have caught the error or passed it to
 * the model. The results of such a task are not stored, and the run rejects with the error.
 */
export class RefusedTasks {
  #refused: readonly Refused[] = [];

  add(place: TaskPlace, error: unknown): void {
    this.#refused = [...this.#refused, { ...place, error, isReported: false }].slice(-mostTasks);
  }

  /** Clears a task when it runs again. */
  begin({ threadId, task }: TaskPlace): void {
    this.#forget((refused) => refused.threadId === threadId && refused.task === task);
  }

  /** Clears the reported tasks of a graph, which may run again. Another reader may read during a run. */
  read(threadId: string, namespace: string): void {
    this.#forget((refused) => refused.isReported && refused.threadId === threadId && refused.namespace === namespace);
  }

  /** Call this when the graph has stored the error of a task. The graph then stores no other results of the task. */
  failed(threadId: string, task: string): void {
    for (const refused of this.#refused)
      if (refused.threadId === threadId && refused.task === task) refused.isReported = true;
  }

  /** @param task defaults to any task @throws the error of a task that follows this checkpoint */
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
