import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import type { Journal } from "../../journal/Journal.ts";

type StatusChange = Omit<StatusRecord, "kind" | "run">;

/** The status of a run that waits. It shows the first request, and falls due when the first of them expires. */
export function waitingStatus(requests: readonly PendingRequest[], at: number): StatusChange {
  const [first] = requests;
  const until = Math.min(
    ...requests.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [Date.parse(expiresAt)])),
  );
  return {
    status: "waiting",
    at,
    requests: requests.map(({ requestId }) => requestId),
    ...(first && { waitingFor: first.waitingFor, prompt: first.prompt }),
    ...(Number.isFinite(until) && { until }),
  };
}

/**
 * The status of a run that goes on, with what some of its lines wait for.
 *
 * @param isAnswered whether it goes on with an answer: then its task has got further.
 */
export function runningStatus(
  { statusState, clock }: Journal,
  requests: readonly Pick<PendingRequest, "requestId">[],
  isAnswered: boolean,
): StatusChange {
  const attempts = Math.min(statusState.attempts, isAnswered ? 1 : Infinity);
  return {
    status: "in_progress",
    at: clock.now(),
    ...(requests.length > 0 && { requests: requests.map(({ requestId }) => requestId) }),
    ...(attempts > 0 && { attempt: attempts }),
  };
}

/** Up to so many open requests, the status lists all of them at every moment. */
const mostListed = 100;

/** Whether a status that lists so many requests lists all that are open: one more than the most may have been made since. */
export function listsAll(listed: number): boolean {
  return listed < mostListed;
}

/** Whether the status is to list anew what is open. Of very many requests not each answer changes the list: it would be written as often as it is long. */
export function isListDue(listed: number, open: number): boolean {
  return open <= mostListed || Math.abs(open - listed) * 10 >= listed;
}
