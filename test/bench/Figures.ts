import type { StepTimes } from "./measure/StepTimes.ts";
import { ends, median, sum } from "./measure/statistics.ts";

/** Times in milliseconds: medians over the first and the last tenth of the steps, and the sum of all. */
export interface Times {
  readonly startMs: number;
  readonly endMs: number;
  readonly wallMs: number;
}

/** What one contestant showed in one run. */
export interface Figures {
  readonly save: Times;
  /** The floor in the same process; absent for what is in memory. */
  readonly floor?: Times;
  readonly diskBytes?: number;
}

/** The first time is that of starting up, before any step: it counts as wall time only. */
export function timesOf(steps: StepTimes): Times {
  return { ...timesOfAll(steps.saves.slice(1)), wallMs: sum(steps.saves) };
}

export function timesOfAll(values: readonly number[]): Times {
  const { start, end } = ends(values);
  return { startMs: median(start), endMs: median(end), wallMs: sum(values) };
}
