import type { ClaimableTask } from "../manager/claimableTasks.ts";

/** How often a task may be begun at one place, and how soon again. */
export interface AttemptLimits {
  readonly maxAttempts: number;
  /** Milliseconds before the third attempt; they double with each further one. The second is made at once. */
  readonly attemptDelayMs: number;
}

/** What is to be done with a task that may have ended its process before. */
export type AttemptVerdict = { readonly kind: "begin" | "refuse" } | { readonly kind: "wait"; readonly ms: number };

/** How often the time between two attempts doubles at most. */
const mostDoublings = 6;
const begin: AttemptVerdict = { kind: "begin" };

/** Decides by the attempts that the log of a task counts, crashes included. @param now milliseconds since 1970. */
export function judgeAttempts(
  { attempts, updatedAt }: Pick<ClaimableTask, "attempts" | "updatedAt">,
  { maxAttempts, attemptDelayMs }: AttemptLimits,
  now: number,
): AttemptVerdict {
  if (attempts >= maxAttempts) return { kind: "refuse" };
  if (attempts < 2) return begin;
  const delayMs = attemptDelayMs * 2 ** Math.min(attempts - 2, mostDoublings);
  const passedMs = now - Date.parse(updatedAt);
  // A clock that was set back says nothing about how long ago it was.
  return passedMs < 0 || passedMs >= delayMs ? begin : { kind: "wait", ms: delayMs - passedMs };
}
