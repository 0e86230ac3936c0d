import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { StoredState } from "../lineStart/startRecorder.ts";

export function pendingRequests(stored: StoredState): readonly PendingRequest[] {
  return openRequests(stored.log.index, stored.state).map(({ record }) => pendingIn(stored, record));
}

export function pendingIn({ log }: StoredState, record: RequestRecord): PendingRequest {
  const waitsSince = log.index.statusState.current?.at ?? 0;
  const { request, node, prompt, schema, waitingFor, expiresAt, problems, approval, at = waitsSince } = record;
  const { branch, agentPath } = linePath(log.index, record.lane);
  const facts = {
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
  const end = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
  if (waitingFor === "timer") return { kind: "timer", ...facts, waitingFor, dueAt: end ?? facts.askedAt };
  const expiry = end !== undefined && { expiresAt: end };
  if (!approval) return { kind: "input", ...facts, ...expiry };
  const { call: toolCallId, tool: toolName, input } = approval;
  const digest = record.question ?? "";
  return { kind: "approval", ...facts, ...expiry, toolCallId, toolName, input: log.readValue(input), digest };
}

/** Returns when a request ends by itself, in milliseconds since 1970. */
export function endsAt(request: PendingRequest): number | undefined {
  const end = request.kind === "timer" ? request.dueAt : request.expiresAt;
  return end === undefined ? undefined : Date.parse(end);
}
