import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { StepView, VisitStep } from "../../inspect/view/StepView.ts";
import { timeOf } from "./timelineCall.ts";
import type { Cost, TimelineAgent, TimelineStep } from "./TimelineData.ts";

type Interval = readonly [from: number, to: number];

/** Sums up what the steps of a page took: time, tokens and money. */
export class Spent {
  readonly #worked: Interval[] = [];
  /** When the agent last went on after a wait or a pause. */
  #wentOn = -Infinity;
  #tokens: number | undefined;
  #cost: Cost | undefined;

  /** Notes when an agent goes on. Give it every step, in order. */
  see(step: StepView): void {
    if (step.kind === "status" && step.status === "in_progress") this.#wentOn = timeOf(step.at) ?? this.#wentOn;
  }

  /** How long the node of a visit ran, in milliseconds; `undefined` if it has not ended. */
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

/** The length of intervals together. What several cover counts once. */
function lengthOf(intervals: readonly Interval[]): number {
  let length = 0;
  let until = -Infinity;
  for (const [from, to] of intervals.toSorted(([one], [other]) => one - other)) {
    length += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return length;
}
