import type { AnyTool } from "../../agent/tool/Tool.ts";
import { timeoutFailure } from "../../agent/tool/recordedCall.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { onAbort, withGrace } from "../../internal/abortable.ts";
import { pause } from "../../internal/Clock.ts";
import type { Rollback } from "./RollbackReport.ts";

type InverseAttempt =
  | { readonly failed: false; readonly output: unknown }
  | { readonly failed: true; readonly error: unknown };

export interface Attempted {
  readonly name: string;
  readonly toolCallId: string;
  /** Defaults to the `toolTimeoutMs` of the agent. */
  readonly timeoutMs: AnyTool["timeoutMs"];
  readonly effect: AnyTool["effect"];
}

/** Tries an inverse or a repeated call up to `attempts` times, in time. @throws the reason of the signal. */
export async function attempt(
  called: Attempted,
  rollback: Rollback,
  action: (signal: AbortSignal) => unknown,
): Promise<InverseAttempt> {
  const { setup, journal, signal } = rollback;
  const { attempts = 3, delayMs = 100 } = setup.inverseRetry;
  for (let made = 1; ; made++) {
    signal.throwIfAborted();
    try {
      return { failed: false, output: await inTime(called, rollback, action) };
    } catch (error) {
      signal.throwIfAborted();
      if (made >= attempts || error instanceof ToolOutcomeUnknownError) return { failed: true, error };
    }
    await pause(journal.clock, delayMs, signal);
  }
}

/** After the time limit or a stop, the action has the grace period to end. */
async function inTime(
  called: Attempted,
  { setup, journal: { clock }, signal }: Rollback,
  action: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const controller = new AbortController();
  const unlisten = onAbort(signal, () => controller.abort(signal.reason));
  const { timeoutMs = setup.pipeline.toolTimeoutMs } = called;
  const stop = () => controller.abort(timeoutFailure(called, called.toolCallId, timeoutMs));
  const cancel = timeoutMs < Infinity ? clock.after(timeoutMs, stop) : () => undefined;
  try {
    return await withGrace(controller.signal, setup.abortGrace, () => action(controller.signal));
  } finally {
    cancel();
    unlisten();
  }
}
