import type { StepView, VisitStep } from "../view/StepView.ts";

type Interval = readonly [from: number, to: number];

export class WorkTime {
  readonly #worked: Interval[] = [];
  /** The last time that the agent continued after a wait or a pause. */
  #continuedAt = -Infinity;

  /** Records when the agent continues. Must be called for every step, in order. */
  see(step: StepView): void {
    if (step.kind === "status" && step.status === "in_progress" && step.at !== undefined)
      this.#continuedAt = Date.parse(step.at);
  }

  /** Returns the duration of a node in milliseconds, or `undefined` if it has not finished. */
  tookOf({ startedAt, checkpoint }: VisitStep): number | undefined {
    if (startedAt === undefined || checkpoint === undefined) return undefined;
    const [from, to] = [Date.parse(startedAt), Date.parse(checkpoint.at)];
    const began = Math.min(to, Math.max(from, this.#continuedAt));
    this.#worked.push([began, to]);
    return to - began;
  }

  /** Returns the total time of all nodes. Times of parallel nodes count once. `undefined` if no node has finished. */
  total(): number | undefined {
    if (this.#worked.length === 0) return undefined;
    let length = 0;
    let until = -Infinity;
    for (const [from, to] of this.#worked.toSorted(([one], [other]) => one - other)) {
      length += Math.max(0, to - Math.max(from, until));
      until = Math.max(until, to);
    }
    return length;
  }
}
