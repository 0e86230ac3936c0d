import { endsOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { ArrivalEvent, InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { assertApproved } from "../../agent/tool/approvalRequest.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { RequestNotOpenError, RequestRejectedError } from "../../errors/requestErrors.ts";
import { ToolRejectedError } from "../../errors/toolCallErrors.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import type { RecordedInput, RecordedReply } from "../recording/Recording.ts";
import { type ExactReplay, visitIn, withinOf } from "./ExactReplay.ts";
import { callInRecording } from "./replayToolCall.ts";

const approved = { approved: true };

/** Returns the recorded answer to a request for input or an approval, or the recorded end of a timer or a receipt. */
export async function replayInputRequest(replay: ExactReplay, event: InputRequestEvent): Promise<unknown> {
  const { context, request, approval } = event;
  const recorded = recordedInput(replay, event);
  if (approval && (!recorded?.reply || "answer" in recorded.reply) && callInRecording(replay, approval.call))
    return approved;
  if (!recorded) {
    if (approval && (await approval.judge?.()) === false) return approved;
    return replay.unrecorded(context, { what: "input", actual: { prompt: request.prompt } });
  }
  const { reply, requestId } = recorded;
  if (!reply) return replay.leave(context);
  const answer = await endsOf(context).deliver(requestId, () => replied(event, recorded, reply));
  if (answer.isRefused) return replay.leave(context);
  return answer.value;
}

function recordedInput(replay: ExactReplay, event: InputRequestEvent): RecordedInput | undefined {
  const { context, request, question, ordinal, approval } = event;
  const place = { visit: visitIn(event.visit), id: request.id, question, ordinal, within: withinOf(context) };
  return replay.of(runOf(context)).records.input({ ...place, isApproval: approval !== undefined });
}

interface Replied {
  readonly value?: unknown;
  /** True if the schema of the node rejects the answer, so that it was requested again. */
  readonly isRefused?: true;
}

async function replied(event: InputRequestEvent, { requestId }: RecordedInput, reply: RecordedReply): Promise<Replied> {
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
  const { payload } = answer as { readonly payload: unknown };
  return checkSchemaAsync(schema, payload, `payload of event "${name}"`);
}
