import { StopRequestedError } from "../../errors/runErrors.ts";
import { AgentBusyError, StorageError } from "../../errors/storageErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import { type ClaimableTask, isOvertaken } from "../queue/claimableTasks.ts";

/** The maximum number of doublings of a delay. */
const mostDoublings = 6;

/** How long a stop request waits for the owner by default. After this time, the task may be claimed again. */
const stopMs = 30_000;

/** The number of tasks from which on the backoff forgets tasks whose delay is over. */
const mostTasks = 10_000;

type SeenTask = Readonly<Record<"status" | "updatedAt", string>>;

interface LeftTask {
  readonly tries: number;
  /** The task at two times: when the worker claimed it, and when the worker released it. */
  readonly seen: readonly SeenTask[];
  readonly retryAtMs: number;
}

/** The tasks that a worker released unchanged. The worker claims such a task again after a change or a delay. */
export class TaskBackoff {
  readonly #left = new Map<string, LeftTask>();

  constructor(
    readonly clock: Clock,
    readonly pollMs: number | undefined,
  ) {}

  has({ taskId, status, updatedAt }: ClaimableTask): boolean {
    const left = this.#left.get(taskId);
    if (left === undefined || this.clock.monotonic() >= left.retryAtMs) return false;
    return left.seen.some((seen) => seen.status === status && seen.updatedAt === updatedAt);
  }

  /** @param seen the task when it was claimed, and the task now. */
  add(taskId: string, error: unknown, seen: readonly SeenTask[]): void {
    const tries = (this.#left.get(taskId)?.tries ?? 0) + 1;
    const retryAtMs = this.clock.monotonic() + retryAfterMs(error, tries, this.pollMs);
    if (this.#left.size >= mostTasks) this.#removeOverdue();
    this.#left.set(taskId, { tries, seen, retryAtMs });
  }

  /** Forgets tasks whose delay is over. Other workers may have finished or deleted them. */
  #removeOverdue(): void {
    const now = this.clock.monotonic();
    for (const [taskId, { retryAtMs }] of this.#left) if (retryAtMs <= now) this.#left.delete(taskId);
  }

  remove(taskId: string): void {
    this.#left.delete(taskId);
  }
}

/** Returns the delay before a task is retried. `Infinity` if damaged. @param error `undefined` for a waiting task */
export function retryAfterMs(error: unknown, tries: number, pollMs: number | undefined): number {
  if (error instanceof StopRequestedError) return stopMs;
  if (error instanceof AgentBusyError) return error.retryAfterMs;
  if (pollMs === undefined) return Infinity;
  const mayPass = error === undefined || error instanceof StorageError || isOvertaken(error);
  return mayPass ? pollMs * 2 ** Math.min(tries - 1, mostDoublings) : Infinity;
}

/** Limits the number and rate of attempts without progress. */
export interface AttemptLimits {
  readonly maxAttempts: number;
  /**
   * The delay before the third attempt, in milliseconds. Each further attempt doubles the delay. The second attempt is
   * immediate.
   */
  readonly attemptDelayMs: number;
}

type AttemptVerdict = { readonly kind: "begin" | "refuse" } | { readonly kind: "wait"; readonly ms: number };

const begin: AttemptVerdict = { kind: "begin" };

/** Decides by the attempts in the log whether a task may start now. An attempt that crashed counts. */
export function judgeAttempts(
  { attempts, updatedAt }: Pick<ClaimableTask, "attempts" | "updatedAt">,
  { maxAttempts, attemptDelayMs }: AttemptLimits,
  now: number,
): AttemptVerdict {
  if (attempts >= maxAttempts) return { kind: "refuse" };
  if (attempts < 2) return begin;
  const delayMs = attemptDelayMs * 2 ** Math.min(attempts - 2, mostDoublings);
  const passedMs = now - Date.parse(updatedAt);
  // If the clock was set back, the passed time is unknown.
  return passedMs < 0 || passedMs >= delayMs ? begin : { kind: "wait", ms: delayMs - passedMs };
}

/** Returns whether a task may no longer start. @param now milliseconds since 1970. */
export function isExpired({ status, expiresAt }: ClaimableTask, now: number): boolean {
  return status === "queued" && expiresAt !== undefined && Date.parse(expiresAt) <= now;
}
