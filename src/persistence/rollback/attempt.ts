import type { AnyTool } from "../../agent/tool/Tool.ts";
import { timeoutFailure } from "../../agent/tool/recordedCall.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { onAbort } from "../../internal/abortable.ts";
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
  let leave: (reason: unknown) => void = () => undefined;
  const left = new Promise<never>((_resolve, reject) => (leave = reject));
  let cancel: () => void = () => undefined;
  const stop = (reason: unknown) => {
    cancel();
    controller.abort(reason);
    cancel = clock.after(setup.abortGraceMs, () => leave(reason));
  };
  const unlisten = onAbort(signal, () => stop(signal.reason));
  const { timeoutMs = setup.pipeline.toolTimeoutMs } = called;
  if (timeoutMs < Infinity)
    cancel = clock.after(timeoutMs, () => stop(timeoutFailure(called, called.toolCallId, timeoutMs)));
  try {
    return await Promise.race([action(controller.signal), left]);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    cancel();
    unlisten();
  }
}
