import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCall/ToolOutcomeUnknownError.ts";
import { onAbort } from "../../internal/abortable.ts";
import type { AbortGrace } from "../feature/FeaturePipeline.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** A call that has a limit. */
interface LimitedCall {
  readonly tool: AnyTool;
  readonly toolCallId: string;
  /** In milliseconds. */
  readonly timeoutMs: number;
  /** Aborts the call for other reasons. */
  readonly signal: AbortSignal;
  /** Its clock measures the limit; what ignores its signal is left after the grace period. */
  readonly grace: AbortGrace;
  /** Called when the time is over; what the call has started is to be aborted with this reason. */
  readonly onLate: (reason: unknown) => void;
}

/**
 * Runs a tool for a limited time. Its output counts if it comes before the grace period has passed.
 *
 * @throws ToolFailedError when the time is over and a repetition would be safe.
 * @throws ToolOutcomeUnknownError when the time is over and the call may have had its effect.
 */
export async function executeInTime(call: LimitedCall, execute: (signal: AbortSignal) => unknown): Promise<unknown> {
  const { tool, toolCallId, timeoutMs, signal, grace, onLate } = call;
  const controller = new AbortController();
  const unlisten = onAbort(signal, () => controller.abort(signal.reason));
  const failure = failureOf(tool, toolCallId, timeoutMs);
  let leave: (reason: unknown) => void = () => undefined;
  const left = new Promise<never>((_resolve, reject) => (leave = reject));
  let cancel = grace.clock.after(timeoutMs, () => {
    cancel = grace.clock.after(grace.ms, () => leave(failure));
    controller.abort(failure);
    onLate(failure);
  });
  try {
    return await Promise.race([execute(controller.signal), left]);
  } catch (error) {
    if (controller.signal.reason === failure) throw failure;
    throw error;
  } finally {
    cancel();
    unlisten();
  }
}

function failureOf({ name, effect }: AnyTool, toolCallId: string, timeoutMs: number) {
  return effect === "none" || effect === "idempotent"
    ? new ToolFailedError(name, toolCallId, `it did not end within ${timeoutMs} ms`)
    : new ToolOutcomeUnknownError(name, toolCallId, timeoutMs);
}
