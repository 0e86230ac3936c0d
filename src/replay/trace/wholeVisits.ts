import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { VisitStep } from "../../inspect/view/StepView.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

/** A node execution, or a part of one, with its duration in milliseconds. */
export interface TimedVisit extends VisitStep {
  readonly took?: number | undefined;
}

/** Joins the steps of one execution. A checkpoint within an execution, or at the join of branches, divides it. */
export function wholeVisits({ checkpoints }: LogProjection, steps: readonly TimedVisit[]): readonly TimedVisit[] {
  const whole: TimedVisit[] = [];
  const begun = new Map<number, TimedVisit>();
  const continues = ({ checkpoint }: TimedVisit): boolean => {
    const { visit, joined, unresolved } = checkpoints.get(checkpoint?.version ?? -1)?.record ?? {};
    return visit !== undefined || joined !== undefined || unresolved === true;
  };
  for (const step of steps) {
    const before = begun.get(step.lane);
    const both = before ? joinedSteps(before, step) : step;
    begun.delete(step.lane);
    if (continues(step)) begun.set(step.lane, both);
    else whole.push(both);
  }
  return [...whole, ...begun.values()].toSorted((one, other) => one.order - other.order);
}

function joinedSteps(one: TimedVisit, other: TimedVisit): TimedVisit {
  const { messages } = one.changes;
  return withoutUndefined({
    ...other,
    node: one.node,
    startedAt: one.startedAt,
    took: one.took === undefined ? other.took : one.took + (other.took ?? 0),
    answers: [...one.answers, ...other.answers],
    calls: [...one.calls, ...other.calls],
    requests: [...one.requests, ...other.requests],
    changes: {
      ...other.changes,
      messages: {
        added: [...messages.added, ...other.changes.messages.added],
        removed: [...messages.removed, ...other.changes.messages.removed],
      },
    },
  });
}
