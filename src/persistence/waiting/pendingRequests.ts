import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { AgentHead } from "../../storage/readHead.ts";

export function pendingRequests({ log, state }: Pick<AgentHead, "log" | "state">): readonly PendingRequest[] {
  return state ? openRequests(log.index, state).map(({ record }) => pendingIn(log, record)) : [];
}

export function pendingIn(log: AgentLog, record: RequestRecord): PendingRequest {
  const { expiresAt, approval, event } = record;
  const facts = factsOf(log, record);
  const end = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
  if (record.waitingFor === "timer")
    return { kind: "timer", ...facts, waitingFor: "timer", dueAt: end ?? facts.askedAt };
  const expiry = end !== undefined && { expiresAt: end };
  if (event !== undefined) return { kind: "event", ...facts, ...expiry, waitingFor: "event", eventName: event };
  if (!approval) return { kind: "input", ...facts, ...expiry };
  const { call: toolCallId, tool: toolName, input } = approval;
  const digest = record.question ?? "";
  return { kind: "approval", ...facts, ...expiry, toolCallId, toolName, input: log.readValue(input), digest };
}

function factsOf(log: AgentLog, record: RequestRecord) {
  const waitsSince = log.index.statusState.current?.at ?? 0;
  const { request, node, prompt, schema, waitingFor, problems, at = waitsSince } = record;
  const { branch, agentPath } = linePath(log.index, record.lane);
  return {
    requestId: request,
    nodeId: node,
    ...(branch !== undefined && { branch }),
    agentPath,
    prompt: String(log.readValue(prompt)),
    schema: log.readValue(schema),
    waitingFor,
    askedAt: new Date(at).toISOString(),
    ...(problems && { problems }),
  };
}

/** Returns when a request ends without an answer, in milliseconds since 1970. */
export function endsAt(request: PendingRequest): number | undefined {
  const end = request.kind === "timer" ? request.dueAt : request.expiresAt;
  return end === undefined ? undefined : Date.parse(end);
}

type StatusChange = Omit<StatusRecord, "kind" | "run">;

export function waitingStatus(requests: readonly PendingRequest[], at: number): StatusChange {
  // A summary shows one request. Timers end without a person, so that other requests are more important.
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

/** Returns the status of a run in progress with open requests. @param isAnswered Whether an answer continues it. */
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

/** Up to this number of open requests, the status lists all of them. */
const mostListed = 100;

/** Returns whether a status with this number of requests lists all. At the maximum, some can be missing. */
export function listsAll(listed: number): boolean {
  return listed < mostListed;
}

/** Returns whether to write the list of requests again. Doing so after each answer would have a quadratic cost. */
export function isListDue(listed: number, open: number): boolean {
  return open <= mostListed || Math.abs(open - listed) * 10 >= listed;
}
