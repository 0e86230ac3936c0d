import type { ClaimableTask } from "../queue/claimableTasks.ts";

/** Limits the number and rate of attempts without progress. */
export interface AttemptLimits {
  readonly maxAttempts: number;
  /**
   * The delay before the third attempt, in milliseconds. It doubles with each further attempt. The second attempt is
   * immediate.
   */
  readonly attemptDelayMs: number;
}

export type AttemptVerdict = { readonly kind: "begin" | "refuse" } | { readonly kind: "wait"; readonly ms: number };

/** The maximum number of doublings of the delay. */
const mostDoublings = 6;
const begin: AttemptVerdict = { kind: "begin" };

/**
 * Decides whether a task may start now. The attempts in its log decide, and crashes count as attempts.
 *
 * @param now milliseconds since 1970.
 */
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
