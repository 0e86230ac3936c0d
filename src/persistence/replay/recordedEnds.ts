import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import { isOver } from "../../checkpoint/records/callRecords.ts";
import { isRefusal } from "../../checkpoint/records/requestRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { AgentState, RecordedCall } from "../../checkpoint/state/AgentState.ts";

type Recorded = Pick<AgentState, "answers" | "calls" | "requests">;

interface End {
  /** The id of the call or request, or the place of the model response. */
  readonly key: string;
  readonly order: number;
  readonly visit: Visit;
  readonly around: readonly (string | undefined)[];
}

/**
 * Returns the keys of the recorded results of a visit, in log order. Results within a finished call are omitted,
 * because that call is not repeated.
 */
export function recordedEnds(recorded: Recorded, [base, ordinal]: Visit): readonly string[] {
  const { calls } = recorded;
  const isFinished = (call = ""): boolean => {
    const known = calls.get(call);
    return known !== undefined && (hasEnded(known) || isFinished(withinOf(known)));
  };
  const isOwn = ({ visit, around }: End) => visit[0] === base && visit[1] === ordinal && !around.some(isFinished);
  const own = allEnds(recorded).filter(isOwn);
  return own.sort((a, b) => a.order - b.order).map(({ key }) => key);
}

function allEnds({ answers, calls, requests }: Recorded): readonly End[] {
  return [
    ...[...answers].map(([key, { visit, order, within }]) => ({ key, order, visit, around: [within] })),
    ...[...calls.values()].flatMap((call) =>
      hasEnded(call) ? { key: call.call, order: call.order, visit: call.visit, around: [withinOf(call)] } : [],
    ),
    ...[...requests.values()].flatMap(({ record, reply, repliedAt: order = 0 }) => {
      const { request: key, visit, within, around = [], approval } = record;
      // An approval is not a result, because it only lets its call start.
      return reply && (!approval || isRefusal(reply)) ? { key, order, visit, around: [within, ...around] } : [];
    }),
  ];
}

function withinOf({ intent, outcome }: RecordedCall): string | undefined {
  return (intent ?? outcome)?.within;
}

/** Returns whether a replay returns the recorded outcome of a call. */
function hasEnded(call: RecordedCall): boolean {
  const { outcome } = call;
  return isOver(outcome) && !(outcome.lost && ["none", "idempotent"].includes(callFacts(call).effect));
}
