import { toJSONSchema } from "zod";
import type { InputRequestEvent } from "./PipelineEvents.ts";
import type { PendingInput } from "./RunResult.ts";

/** An open request as the result of a run lists it. */
export function pendingRequest({ requestId, nodeId, request, problems }: InputRequestEvent): PendingInput {
  const { prompt, schema, waitingFor = "user_input", expiresAt } = request;
  return {
    kind: "input",
    requestId,
    nodeId,
    prompt,
    schema: toJSONSchema(schema, { unrepresentable: "any", io: "input" }),
    waitingFor,
    ...(problems && { problems }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
}
