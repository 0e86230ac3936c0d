import type { PendingInput } from "../../agent/feature/RunResult.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import type { StoredState } from "../record/startRecorder.ts";

/** What an agent waits for, as its log says; nothing unless it waits. */
export function pendingInputs({ log, state }: StoredState): readonly PendingInput[] {
  const reader = log.reader(state);
  return openRequests(log.index, state).map(
    ({ request, node, prompt, schema, waitingFor, expiresAt, problems }): PendingInput => ({
      kind: "input",
      requestId: request,
      nodeId: node,
      prompt: String(reader.read(prompt)),
      schema: reader.read(schema),
      waitingFor,
      ...(problems && { problems }),
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    }),
  );
}
