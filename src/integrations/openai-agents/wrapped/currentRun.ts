import { AsyncLocalStorage } from "node:async_hooks";
import type { DurableRun } from "./DurableRun.ts";

interface Place {
  readonly run: DurableRun;
  /** The tool call around; absent: the loop of the run itself. */
  readonly call?: string;
}

const places = new AsyncLocalStorage<Place>();

/** The durable run that this code works for; `undefined`: none, or code whose model requests are not the run's. */
export function currentRun(): DurableRun | undefined {
  return places.getStore()?.run;
}

/** The tool call that this code works for. */
export function currentCall(): string | undefined {
  return places.getStore()?.call;
}

/** Does work of a run, or of one of its tool calls. */
export function inRun<Result>(run: DurableRun, call: string | undefined, work: () => Result): Result {
  return places.run(call === undefined ? { run } : { run, call }, work);
}

/** Calls code beside the loop, such as guardrails: its order is not that of the loop, so it records nothing. */
export function besideTheRun<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return (...parameters) => places.exit(() => code(...parameters));
}
