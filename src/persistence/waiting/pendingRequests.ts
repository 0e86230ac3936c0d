import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { StoredState } from "../record/startRecorder.ts";

/** What an agent waits for, as its log says; nothing unless it waits. */
export function pendingRequests({ log, state }: StoredState): readonly PendingRequest[] {
  const reader = log.reader(state);
  const waitsSince = log.index.statusState.current?.at ?? 0;
  return openRequests(log.index, state).map((record) => pendingIn(record, reader, waitsSince));
}

function pendingIn(record: RequestRecord, reader: ValueReader, waitsSince: number): PendingRequest {
  const { request, node, prompt, schema, waitingFor, expiresAt, problems, approval, at = waitsSince } = record;
  const facts = {
    requestId: request,
    nodeId: node,
    prompt: String(reader.read(prompt)),
    schema: reader.read(schema),
    waitingFor,
    askedAt: new Date(at).toISOString(),
    ...(problems && { problems }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
  if (!approval) return { kind: "input", ...facts };
  const { call: toolCallId, tool: toolName, input } = approval;
  return { kind: "approval", ...facts, toolCallId, toolName, input: reader.read(input), digest: record.question ?? "" };
}
