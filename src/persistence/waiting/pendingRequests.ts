import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { StoredState } from "../start/startRecorder.ts";

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
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
  if (!approval) return { kind: "input", ...facts };
  const { call: toolCallId, tool: toolName, input } = approval;
  const digest = record.question ?? "";
  return { kind: "approval", ...facts, toolCallId, toolName, input: log.readValue(input), digest };
}
