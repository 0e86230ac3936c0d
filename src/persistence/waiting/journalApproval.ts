import { endsOf } from "../../agent/feature/ContextBinding.ts";
import type { ApprovalEvent, InputRequestEvent, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { InputRequest } from "../../agent/context/InputRequest.ts";
import { approvalRequest, assertApproved } from "../../agent/tool/Tool.ts";
import { ToolRejectedError } from "../../errors/toolCallErrors.ts";
import { recordedCall } from "../replay/discardReplay.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import { saveIfDue } from "../record/saveIfDue.ts";
import type { Reply } from "../replay/RecordedAnswers.ts";
import { assertKeepsRequests } from "./askedRecords.ts";

/**
 * Handles the approval of a tool call of a durable run. After the request is recorded, `needsApproval` of the tool is
 * not called again.
 *
 * @returns the approving answer.
 * @throws ToolRejectedError, ReplayDivergedError
 */
export async function journalApproval(
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
  if (reply && !problems) return endsOf(event.context).deliver(reply.requestId, () => accept(recorder, event, reply));
  const request = await requestFor(recorder, event);
  if (!request) return approved;
  assertKeepsRequests(recorder, event);
  if (request.expiresAt && request.expiresAt.getTime() <= recorder.setup.clock.now())
    throw expired(call, request.expiresAt.toISOString());
  return next({ ...event, request, approval: { call }, ...(problems && { problems }) });
}

const approved = { approved: true };

/**
 * Returns whether a call was approved before or needed no approval. This is also true for a finished call of a message
 * that is executed again. If a call differs from its record, the call fails without a new request.
 */
function hasStarted(recorder: RunRecorder, call: ToolCallEvent): boolean {
  if (call.origin.kind === "model" && recorder.calls.isMade(call.toolCallId)) return true;
  const recorded = recordedCall(recorder, call);
  return recorded !== undefined && !recorder.recording?.needsApproval(recorded, !!recorder.setup.approvals);
}

type ApprovalRequestEvent = InputRequestEvent & { readonly approval: ApprovalEvent };

/** Returns the recorded request, or a new request from the tool. Returns `undefined` if the call needs no approval. */
async function requestFor({ replies }: RunRecorder, event: ApprovalRequestEvent): Promise<InputRequest | undefined> {
  const { call, judge } = event.approval;
  const verdict = replies?.shownFor(event) ?? (await judge?.()) ?? true;
  return verdict === false ? undefined : approvalRequest(call.tool.name, verdict);
}

async function accept(
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
