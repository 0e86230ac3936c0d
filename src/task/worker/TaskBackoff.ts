import { OwnershipLostError } from "../../errors/storage/OwnershipLostError.ts";
import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import { StorageError } from "../../errors/storage/StorageError.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { ClaimableTask } from "../manager/claimableTasks.ts";

/** How often the time between two tries doubles at most, beginning with `pollMs`. */
const mostDoublings = 6;

/** The default time that a stop request waits for the owner; after it, the task may be claimed again. */
const stopMs = 30_000;

interface LeftTask {
  readonly tries: number;
  /** The `updatedAt` of the task when the worker released it. */
  readonly updatedAt: readonly string[];
  /** By the monotonic clock. */
  readonly retryAtMs: number;
}

/**
 * Tasks that a worker claimed and released unchanged. The worker claims such a task again when the task has changed, or
 * when the cause may be gone: an immediate try would meet the same error.
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

  /** @param updatedAt of the task when it was claimed, and of the task now. */
  add(taskId: string, error: unknown, updatedAt: readonly string[]): void {
    const tries = (this.#left.get(taskId)?.tries ?? 0) + 1;
    const retryAtMs = this.#clock.monotonic() + retryAfterMs(error, tries, this.#pollMs);
    this.#left.set(taskId, { tries, updatedAt, retryAtMs });
  }

  remove(taskId: string): void {
    this.#left.delete(taskId);
  }
}

/** The time until an unchanged task is tried again after an error; `Infinity` for a damaged one. */
export function retryAfterMs(error: unknown, tries: number, pollMs: number | undefined): number {
  if (error instanceof StopRequestedError) return stopMs;
  if (pollMs === undefined) return Infinity;
  const mayPass = error instanceof StorageError || error instanceof OwnershipLostError;
  return mayPass ? pollMs * 2 ** Math.min(tries - 1, mostDoublings) : Infinity;
}
