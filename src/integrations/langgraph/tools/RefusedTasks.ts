import type { CheckpointPlace } from "../write/checkpointRecords.ts";
import type { TaskPlace } from "./TaskPlace.ts";

/** A task that never runs again is forgotten. */
const mostTasks = 1000;

interface Refused extends TaskPlace {
  readonly error: unknown;
}

/**
 * Tasks in which something failed that no tool has failed with. A node may have caught it, or made a message for the model of
 * it: what it makes of that is not stored, and the run is rejected with the error.
 */
export class RefusedTasks {
  #refused: readonly Refused[] = [];

  add(place: TaskPlace, error: unknown): void {
    this.#refused = [...this.#refused, { ...place, error }].slice(-mostTasks);
  }

  /** A task runs again. */
  begin({ threadId, task }: TaskPlace): void {
    this.#forget((refused) => refused.threadId === threadId && refused.task === task);
  }

  /** A graph runs again. */
  read(threadId: string, namespace: string): void {
    this.#forget((refused) => refused.threadId === threadId && refused.namespace === namespace);
  }

  /** @param task default: any. @throws what failed in a task that follows this checkpoint. */
  assertNone(threadId: string, { namespace, id }: CheckpointPlace, task?: string): void {
    const found = this.#refused.find(
      (refused) =>
        refused.threadId === threadId &&
        refused.namespace === namespace &&
        refused.checkpointId === id &&
        (task === undefined || refused.task === task),
    );
    if (found) throw found.error;
  }

  #forget(isForgotten: (refused: Refused) => boolean): void {
    if (this.#refused.length > 0) this.#refused = this.#refused.filter((refused) => !isForgotten(refused));
  }
}
