import type { ArrivalEvent, InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { assertApproved } from "../../agent/tool/Tool.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { RequestNotOpenError, RequestRejectedError } from "../../errors/requestErrors.ts";
import { ToolRejectedError } from "../../errors/toolCallErrors.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import type { RecordedInput, RecordedReply } from "../recording/Recording.ts";

/** The approval of a call for which no request is recorded. */
export const unaskedApproval: unknown = Object.freeze({ approved: true });

export interface Replied {
  readonly value?: unknown;
  /** True if the schema of the node rejects the answer, so that the node made the request again. */
  readonly isRefused?: true;
}

/** Returns the recorded reply to a request. @throws the error of a rejected or expired request */
export async function repliedTo(
  event: InputRequestEvent,
  { requestId }: RecordedInput,
  reply: RecordedReply,
): Promise<Replied> {
  const { approval, timer, request, context } = event;
  const { agentId } = context;
  const { rejected, expiredAt, answer, by } = reply;
  if (approval) return { value: approvalOf(approval.call, reply) };
  if (rejected !== undefined) throw new RequestRejectedError(agentId, requestId, rejected, by);
  if (timer)
    return { value: timer.event && expiredAt === undefined ? await payloadOf(timer.event, answer) : undefined };
  if (expiredAt !== undefined) throw new RequestNotOpenError("request_expired", agentId, requestId, expiredAt);
  try {
    return { value: await checkSchemaAsync(request.schema, answer, `answer to request ${requestId}`) };
  } catch (error) {
    if (error instanceof InvalidInputError) return { isRefused: true };
    throw error;
  }
}

function approvalOf(
  call: NonNullable<InputRequestEvent["approval"]>["call"],
  { rejected, expiredAt, answer, by }: RecordedReply,
): unknown {
  const { tool, toolCallId } = call;
  if (expiredAt !== undefined)
    throw new ToolRejectedError(tool.name, toolCallId, `nobody approved it before ${expiredAt}`);
  if (rejected !== undefined) throw new ToolRejectedError(tool.name, toolCallId, rejected, by);
  assertApproved(answer, call, by);
  return answer;
}

function payloadOf({ name, schema }: ArrivalEvent, answer: unknown): Promise<unknown> {
  const { payload } = Object(answer) as { readonly payload: unknown };
  return checkSchemaAsync(schema, payload, `payload of event "${name}"`);
}
