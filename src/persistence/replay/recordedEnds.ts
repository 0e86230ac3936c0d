import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import { isOver } from "../../checkpoint/records/callRecords.ts";
import { isRefusal } from "../../checkpoint/records/requestRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { AgentState, RecordedAnswer, RecordedCall } from "../../checkpoint/state/AgentState.ts";

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
  const keys = own.sort((a, b) => a.order - b.order).map(({ key }) => key);
  for (const { key } of own) addFailures(keys, key, recorded.answers.get(key));
  return keys;
}

/** The key of a failed model request. Its response, to a later request, has the key `place`. */
export const failureKey = (place: string, number: number): string => `${place} ${number}`;

/** Adds the failed requests before a response. A failed request that was repeated is skipped, because its response is known. */
function addFailures(keys: string[], place: string, response: RecordedAnswer | undefined): void {
  for (const [number, { asked, after }] of (response?.failed ?? []).entries()) {
    if (asked === response?.asked) continue;
    const at = after === undefined ? 0 : keys.indexOf(after) + 1 || keys.indexOf(place);
    keys.splice(at, 0, failureKey(place, number));
  }
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
