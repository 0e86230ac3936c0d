/** What came of a task that a worker took. */
export type TaskOutcome = {
  readonly taskId: string;
  readonly taskName: string;
  /** Whether it had been cut short in another process. */
  readonly recovered: boolean;
} & (
  | { readonly outcome: "completed"; readonly output: unknown }
  | { readonly outcome: "waiting" | "paused" }
  /** Its run rejected; the task says whether it may be retried. */
  | { readonly outcome: "failed"; readonly error: unknown }
  /** The worker was stopped, somebody paused or cancelled it, or its storage failed: it stays as it is. */
  | { readonly outcome: "interrupted"; readonly error: unknown }
);
