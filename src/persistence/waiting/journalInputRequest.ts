import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { endsOf } from "../../agent/feature/ContextBinding.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { RequestRejectedError, RequestNotOpenError } from "../../errors/requestErrors.ts";
import { answerSubject } from "./answerSubject.ts";
import { assertKeepsRequests } from "./assertKeepsRequests.ts";
import { journalWait } from "./journalTimer.ts";
import { journalApproval } from "./journalApproval.ts";
import { saveIfDue } from "../record/saveIfDue.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { Reply } from "../replay/RecordedAnswers.ts";

/**
 * Handles a request of a durable run, and returns its recorded answer. The stored JSON Schema validated the answer when
 * it arrived. Here the schema of the node validates it again, because that schema can be stricter. If it rejects the
 * answer, the node makes a new request.
 */
export async function journalInputRequest(
  recorder: RunRecorder,
  event: InputRequestEvent,
  next: (event: InputRequestEvent) => Promise<unknown>,
): Promise<unknown> {
  if (event.timer) return journalWait(recorder, { ...event, timer: event.timer }, next);
  if (event.approval) return journalApproval(recorder, { ...event, approval: event.approval }, next);
  assertKeepsRequests(recorder, event);
  const reply = recorder.replies?.of(event);
  if (!reply) {
    const { expiresAt } = event.request;
    if (expiresAt && expiresAt.getTime() <= recorder.setup.clock.now())
      throw new RequestNotOpenError(
        "request_expired",
        recorder.journal.agentId,
        event.requestId,
        expiresAt.toISOString(),
      );
    return next(event);
  }
  const deliver = () => accept(recorder, event, reply);
  const accepted = await endsOf(event.context).deliver(reply.requestId, deliver);
  return "problems" in accepted ? next({ ...event, ...accepted }) : accepted.answer;
}

async function accept(
  recorder: RunRecorder,
  { requestId, nodeId, request, context }: InputRequestEvent,
  reply: Reply,
): Promise<{ readonly answer: unknown } | Required<Pick<InputRequestEvent, "problems">>> {
  const { agentId } = recorder.journal;
  if ("rejected" in reply) throw new RequestRejectedError(agentId, requestId, reply.rejected, reply.by);
  if ("expiredAt" in reply) throw new RequestNotOpenError("request_expired", agentId, requestId, reply.expiredAt);
  let answer: unknown;
  try {
    answer = await checkSchemaAsync(request.schema, reply.answer, answerSubject(requestId));
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return { problems: error.problems };
  }
  if (reply.isNew) await saveIfDue(recorder, context, { kind: "request_answered", nodeId, requestId });
  return { answer };
}
