import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { StoredState } from "../nestedLines/startRecorder.ts";

export function pendingRequests(stored: StoredState): readonly PendingRequest[] {
  return openRequests(stored.log.index, stored.state).map(({ record }) => pendingIn(stored, record));
}

export function pendingIn(stored: StoredState, record: RequestRecord): PendingRequest {
  const { log } = stored;
  const { expiresAt, approval, event } = record;
  const facts = factsOf(stored, record);
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

function factsOf({ log }: StoredState, record: RequestRecord) {
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

/** Returns when a request ends by itself, in milliseconds since 1970. */
export function endsAt(request: PendingRequest): number | undefined {
  const end = request.kind === "timer" ? request.dueAt : request.expiresAt;
  return end === undefined ? undefined : Date.parse(end);
}
