import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { StepView, VisitStep } from "../../inspect/view/StepView.ts";
import { timeOf } from "./timelineCall.ts";
import type { Cost, TimelineAgent, TimelineStep } from "./TimelineData.ts";

type Interval = readonly [from: number, to: number];

export class Spent {
  readonly #worked: Interval[] = [];
  /** The last time that the agent continued after a wait or a pause. */
  #wentOn = -Infinity;
  #tokens: number | undefined;
  #cost: Cost | undefined;

  /** Records when the agent continues. Must receive every step, in order. */
  see(step: StepView): void {
    if (step.kind === "status" && step.status === "in_progress") this.#wentOn = timeOf(step.at) ?? this.#wentOn;
  }

  /** Returns the duration of a node in milliseconds, or `undefined` if it has not finished. */
  tookOf({ startedAt, checkpoint }: VisitStep): number | undefined {
    const [from, to] = [timeOf(startedAt), timeOf(checkpoint?.at)];
    if (from === undefined || to === undefined) return undefined;
    const began = Math.min(to, Math.max(from, this.#wentOn));
    this.#worked.push([began, to]);
    return to - began;
  }

  add({ tokens, cost }: TimelineStep): void {
    if (tokens !== undefined) this.#tokens = (this.#tokens ?? 0) + tokens;
    if (cost === undefined) return;
    const { amount, unpriced } = this.#cost ?? { amount: 0, unpriced: 0 };
    this.#cost = { ...cost, amount: amount + cost.amount, unpriced: unpriced + cost.unpriced };
  }

  total(): Pick<TimelineAgent, "tokens" | "cost" | "worked"> {
    const worked = this.#worked.length === 0 ? undefined : lengthOf(this.#worked);
    return withoutUndefined({ tokens: this.#tokens, cost: this.#cost, worked });
  }
}

/** Returns the total length of intervals, counting overlaps once. */
function lengthOf(intervals: readonly Interval[]): number {
  let length = 0;
  let until = -Infinity;
  for (const [from, to] of intervals.toSorted(([one], [other]) => one - other)) {
    length += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return length;
}
