import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { endsOf } from "../../agent/feature/ContextBinding.ts";
import type {
  InputRequestEvent,
  TimerEvent,
  ApprovalEvent,
  ToolCallEvent,
} from "../../agent/feature/PipelineEvents.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { RequestRejectedError, RequestNotOpenError } from "../../errors/requestErrors.ts";
import { saveIfDue } from "../saving/saveIfDue.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import type { Reply, RecordedTimer } from "../replay/RecordedAnswers.ts";
import { timerRequest, type InputRequest } from "../../agent/context/InputRequest.ts";
import { requestRecord, leftMs, replyRecord, assertKeepsRequests, answerSubject } from "./askedRecords.ts";
import { approvalRequest, assertApproved } from "../../agent/tool/Tool.ts";
import { ToolRejectedError } from "../../errors/toolCallErrors.ts";

/** Returns the recorded answer to a request. If the node's schema rejects the answer, the node makes a new one. */
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
  const deliver = () => acceptAnswer(recorder, event, reply);
  const accepted = await endsOf(event.context).deliver(reply.requestId, deliver);
  return "problems" in accepted ? next({ ...event, ...accepted }) : accepted.answer;
}

async function acceptAnswer(
  recorder: RunRecorder,
  { requestId, nodeId, request, context }: InputRequestEvent,
  reply: Reply,
): Promise<{ readonly answer: unknown } | Required<Pick<InputRequestEvent, "problems">>> {
  const { agentId } = recorder.journal;
  if ("rejected" in reply) throw new RequestRejectedError(agentId, requestId, reply.rejected, reply.by);
  if ("expiredAt" in reply) throw new RequestNotOpenError("request_expired", agentId, reply.requestId, reply.expiredAt);
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

async function journalWait(
  recorder: RunRecorder,
  event: InputRequestEvent & { readonly timer: TimerEvent },
  next: (event: InputRequestEvent) => Promise<unknown>,
): Promise<unknown> {
  const { event: arrival } = event.timer;
  if (!arrival) return journalTimer(recorder, event, next);
  const { journalReceipt } = await import("./journalReceipt.ts");
  return journalReceipt(recorder, { ...event, timer: { ...event.timer, event: arrival } }, next);
}

/** Handles a sleep. Records the timer first, so that a crash or a change of the clock does not change its end. */
async function journalTimer(
  recorder: RunRecorder,
  event: InputRequestEvent & { readonly timer: TimerEvent },
  next: (event: InputRequestEvent) => Promise<unknown>,
): Promise<void> {
  const { replies, setup, journal, lane } = recorder;
  const { requestId, context } = event;
  const reply = replies?.of(event);
  if (reply) return endsOf(context).deliver(reply.requestId, () => undefined);
  const recorded = replies?.timerOf(event);
  const startedAt = recorded?.at ?? setup.clock.now();
  const timer = { ...timerOf(recorder, recorded, event.timer), startedAt };
  if (timer.mayWait) assertKeepsRequests(recorder, event);
  const accepted = { ...event, request: timerRequest(timer.dueAt), timer };
  const isKept = setup.log.capabilities.keeps === undefined;
  if (isKept && recorded?.requestId !== requestId) journal.append([requestRecord(recorder, accepted, startedAt)]);
  await next(accepted);
  if (!isKept) return;
  journal.append([replyRecord(journal, lane, requestId, { expired: true })]);
  endsOf(context).add(requestId);
  await endsOf(context).deliver(requestId, () => undefined);
}

/** Returns the timer with its recorded end, and whether the run may end as `waiting` before. */
function timerOf(
  { setup: { clock, sleepInProcessMs } }: RunRecorder,
  recorded: RecordedTimer | undefined,
  asked: TimerEvent,
): TimerEvent {
  const dueAt = recorded?.dueAt ?? asked.dueAt;
  const left = recorded ? leftMs(clock, { at: recorded.at, end: dueAt }) : asked.leftMs;
  return { dueAt, leftMs: left, mayWait: left > sleepInProcessMs };
}

/**
 * Handles the approval of a tool call and returns the approving answer. After the request is recorded, `needsApproval`
 * is not called again.
 *
 * @throws ToolRejectedError, ReplayDivergedError
 */
async function journalApproval(
  recorder: RunRecorder,
  event: ApprovalRequestEvent,
  next: (event: InputRequestEvent) => Promise<unknown>,
): Promise<unknown> {
  const { call } = event.approval;
  const { approvals } = recorder.setup;
  const reply = recorder.replies?.of(event);
  if (hasStarted(recorder, call)) return approved;
  const problems =
    approvals && (await (await import("./approvalChecks.ts")).recordedProblems(approvals, recorder, event, reply));
  if (reply && !problems)
    return endsOf(event.context).deliver(reply.requestId, () => acceptApproval(recorder, event, reply));
  const request = await requestFor(recorder, event);
  if (!request) return approved;
  assertKeepsRequests(recorder, event);
  if (request.expiresAt && request.expiresAt.getTime() <= recorder.setup.clock.now())
    throw expired(call, request.expiresAt.toISOString());
  return next({ ...event, request, approval: { call }, ...(problems && { problems }) });
}

const approved = { approved: true };

/** Returns whether a recorded call was approved or needed no approval. If the call differs, it fails later. */
function hasStarted(recorder: RunRecorder, call: ToolCallEvent): boolean {
  if (call.origin.kind === "model" && recorder.calls.isMade(call.toolCallId)) return true;
  const { recording, setup } = recorder;
  const recorded = recording?.recordedCall(call);
  return recorded !== undefined && !recording?.needsApproval(recorded, !!setup.approvals);
}

type ApprovalRequestEvent = InputRequestEvent & { readonly approval: ApprovalEvent };

/** Returns the recorded or a new request for approval. `undefined` if the call needs no approval. */
async function requestFor({ replies }: RunRecorder, event: ApprovalRequestEvent): Promise<InputRequest | undefined> {
  const { call, judge } = event.approval;
  const verdict = replies?.askedBefore(event)?.shown ?? (await judge?.()) ?? true;
  return verdict === false ? undefined : approvalRequest(call.tool.name, verdict);
}

async function acceptApproval(
  recorder: RunRecorder,
  { approval: { call }, context, nodeId, requestId }: ApprovalRequestEvent,
  reply: Reply,
): Promise<unknown> {
  if ("expiredAt" in reply) throw expired(call, reply.expiredAt);
  if ("rejected" in reply) throw new ToolRejectedError(call.tool.name, call.toolCallId, reply.rejected, reply.by);
  assertApproved(reply.answer, call, reply.by);
  if (reply.isNew) await saveIfDue(recorder, context, { kind: "request_answered", nodeId, requestId });
  return reply.answer;
}

function expired({ tool, toolCallId }: ToolCallEvent, at: string): ToolRejectedError {
  return new ToolRejectedError(tool.name, toolCallId, `nobody approved it before ${at}`);
}
