import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { onAbort } from "../../internal/abortable.ts";
import type { AbortGrace } from "../feature/FeaturePipeline.ts";
import type { AnyTool } from "../tool/Tool.ts";

interface LimitedCall {
  readonly tool: AnyTool;
  readonly toolCallId: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The clock that measures the limit, and the grace period for a tool that ignores its signal. */
  readonly grace: AbortGrace;
  readonly onLate: (reason: unknown) => void;
}

/**
 * Runs a tool with a timeout. An output within the grace period still counts.
 *
 * @throws ToolFailedError after the timeout if the call is safe to repeat.
 * @throws ToolOutcomeUnknownError after the timeout if the call could have taken effect.
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
