import { OwnershipLostError } from "../../errors/storage/OwnershipLostError.ts";
import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import { StorageError } from "../../errors/storage/StorageError.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { ClaimableTask } from "./claimableTasks.ts";

/** After as many doublings of `pollMs` the time between two tries grows no more. */
const mostDoublings = 6;

/** Who asks a run to stop waits as long by default; afterwards nobody comes for the task. */
const stopMs = 30_000;

interface LeftTask {
  readonly tries: number;
  /** When it was known to have changed last. */
  readonly updatedAt: readonly string[];
  /** By the monotonic clock. */
  readonly retryAtMs: number;
}

/**
 * Tasks that a worker took and had to let go of as they were. It takes one again when it has changed since, or when what
 * stood in its way may have gone: at once it would only meet the same again.
 */
export class TaskBackoff {
  readonly #clock: Clock;
  readonly #pollMs: number | undefined;
  readonly #left = new Map<string, LeftTask>();

  constructor(clock: Clock, pollMs: number | undefined) {
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  has({ taskId, updatedAt }: ClaimableTask): boolean {
    const left = this.#left.get(taskId);
    return left !== undefined && left.updatedAt.includes(updatedAt) && this.#clock.monotonic() < left.retryAtMs;
  }

  /** @param updatedAt of the task as it was taken, and as it is now. */
  add(taskId: string, error: unknown, updatedAt: readonly string[]): void {
    const tries = (this.#left.get(taskId)?.tries ?? 0) + 1;
    const retryAtMs = this.#clock.monotonic() + retryAfterMs(error, tries, this.#pollMs);
    this.#left.set(taskId, { tries, updatedAt, retryAtMs });
  }

  remove(taskId: string): void {
    this.#left.delete(taskId);
  }
}

/** When a task that was let go of with an error is tried again, were it to stay as it is; a damaged one never. */
export function retryAfterMs(error: unknown, tries: number, pollMs: number | undefined): number {
  if (error instanceof StopRequestedError) return stopMs;
  if (pollMs === undefined) return Infinity;
  const mayPass = error instanceof StorageError || error instanceof OwnershipLostError;
  return mayPass ? pollMs * 2 ** Math.min(tries - 1, mostDoublings) : Infinity;
}
