import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import { endsAt } from "./pendingRequests.ts";

type StatusChange = Omit<StatusRecord, "kind" | "run">;

export function waitingStatus(requests: readonly PendingRequest[], at: number): StatusChange {
  // A summary shows one request, preferably one that a person can answer, because timers end without help.
  const first = requests.find(({ kind }) => kind !== "timer") ?? requests[0];
  const until = Math.min(...requests.flatMap((request) => endsAt(request) ?? []));
  return {
    status: "waiting",
    at,
    requests: requests.map(({ requestId }) => requestId),
    ...(first && { waitingFor: first.waitingFor, prompt: first.prompt }),
    ...(Number.isFinite(until) && { until }),
  };
}

/**
 * Returns the status of a running run with its waiting requests. @param isAnswered Whether an answer continues the run.
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

/** Up to this number of open requests, the status always lists all of them. */
const mostListed = 100;

/** Returns whether a status with this many requests lists all. One with the maximum can lack a new one. */
export function listsAll(listed: number): boolean {
  return listed < mostListed;
}

/** Returns whether to write the list of requests again. Writing it for each of many answers would be quadratic. */
export function isListDue(listed: number, open: number): boolean {
  return open <= mostListed || Math.abs(open - listed) * 10 >= listed;
}
