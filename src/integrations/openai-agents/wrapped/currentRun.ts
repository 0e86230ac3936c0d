import { AsyncLocalStorage } from "node:async_hooks";
import type { DurableRun } from "./DurableRun.ts";

interface CurrentCall {
  readonly run: DurableRun;
  /** The enclosing tool call, or `undefined` in the loop of the run. */
  readonly call?: string;
}

const places = new AsyncLocalStorage<CurrentCall>();

/**
 * Returns the durable run of the current code. `undefined` outside of runs and in code whose model requests are not
 * recorded.
 */
export function currentRun(): DurableRun | undefined {
  return places.getStore()?.run;
}

export function currentCall(): string | undefined {
  return places.getStore()?.call;
}

export function inRun<Result>(run: DurableRun, call: string | undefined, work: () => Result): Result {
  return places.run(call === undefined ? { run } : { run, call }, work);
}

/**
 * Runs code outside the recorded loop, such as guardrails. Such code has no fixed order and therefore records nothing.
 */
export function besideTheRun<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return (...parameters) => places.exit(() => code(...parameters));
}
