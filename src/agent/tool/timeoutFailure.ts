import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import type { ToolEffect } from "./Tool.ts";

/** The errors of calls that failed at their time limit. Tools and interceptors can throw other errors of this class. */
export const lateFailures = new WeakSet<object>();

/** Returns the error of a call at its time limit. Only a call that is safe to repeat has failed. */
export function timeoutFailure(
  { name, effect }: { readonly name: string; readonly effect?: ToolEffect | undefined },
  toolCallId: string,
  timeoutMs: number | undefined,
  reason = `it did not end within ${timeoutMs} ms`,
): Error {
  if (effect !== "none" && effect !== "idempotent") return new ToolOutcomeUnknownError(name, toolCallId, timeoutMs);
  const failure = new ToolFailedError(name, toolCallId, reason);
  lateFailures.add(failure);
  return failure;
}
