/** When and how often workers may run a task. Times are in ISO 8601. */
export interface TaskControls {
  /** The queue of the task. Omitted for a task without a queue. */
  readonly queue?: string;
  /** The key of the task in its queue, such as a customer. */
  readonly key?: string;
  /** Workers do not start the task before this time. */
  readonly notBefore?: string;
  /** Workers cancel the task if it is still queued at this time. */
  readonly expiresAt?: string;
  /** How often a worker retries the task after a failure. Defaults to 0. */
  readonly retries?: number;
  /** The first retry delay in milliseconds. Each retry doubles it, up to 64 times the first. Requires `retries`. */
  readonly retryDelayMs?: number;
  /** The id that distinguishes the task from its duplicates. */
  readonly deduplicationId?: string;
}
