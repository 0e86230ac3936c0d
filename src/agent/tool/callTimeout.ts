import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { onAbort } from "../../internal/abortable.ts";
import type { Clock } from "../../internal/Clock.ts";
import { isRepeatable } from "./recordedCall.ts";
import type { AnyTool, ToolEffect } from "./Tool.ts";

interface LimitedCall {
  readonly tool: AnyTool;
  readonly toolCallId: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The clock for the time limit, and the grace period for a tool that ignores its signal. */
  readonly grace: { readonly ms: number; readonly clock: Clock };
  readonly onLate: (reason: unknown) => void;
  /** Receives a function that cancels the limit. Returns a function to call when the tool has ended. */
  readonly onBegun: (cancel: () => void) => () => void;
}

/**
 * Runs a tool with a time limit. An output that arrives within the grace period is accepted.
 *
 * @throws ToolFailedError, ToolOutcomeUnknownError
 */
export async function executeInTime(call: LimitedCall, execute: (signal: AbortSignal) => unknown): Promise<unknown> {
  const { tool, toolCallId, timeoutMs, signal, grace, onLate, onBegun } = call;
  const controller = new AbortController();
  const unlisten = onAbort(signal, () => controller.abort(signal.reason));
  const failure = timeoutFailure(tool, toolCallId, timeoutMs);
  let leave: (reason: unknown) => void = () => undefined;
  const left = new Promise<never>((_resolve, reject) => (leave = reject));
  let cancel = grace.clock.after(timeoutMs, () => {
    cancel = grace.clock.after(grace.ms, () => leave(failure));
    controller.abort(failure);
    onLate(failure);
  });
  const onEnded = onBegun(() => cancel());
  try {
    return await Promise.race([execute(controller.signal), left]);
  } catch (error) {
    if (controller.signal.reason === failure) throw failure;
    throw error;
  } finally {
    onEnded();
    cancel();
    unlisten();
  }
}

/** Errors of failed calls that may still take effect. Other errors can have the same class. */
export const lateFailures = new WeakSet<object>();

/** Returns the error of a call that exceeded its time limit. Only a call that is safe to repeat counts as failed. */
export function timeoutFailure(
  { name, effect }: { readonly name: string; readonly effect?: ToolEffect | undefined },
  toolCallId: string,
  timeoutMs: number | undefined,
  reason = `it did not end within ${timeoutMs} ms`,
): Error {
  if (!isRepeatable(effect)) return new ToolOutcomeUnknownError(name, toolCallId, timeoutMs);
  const failure = new ToolFailedError(name, toolCallId, reason);
  lateFailures.add(failure);
  return failure;
}
