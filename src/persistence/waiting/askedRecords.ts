import { askedQuestion } from "../../agent/context/InputRequest.ts";
import { callsAround, requestPlace, runOf, visitIn } from "../../agent/feature/ContextBinding.ts";
import type { ApprovalEvent, InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { type PendingRequest, pendingRequest } from "../../agent/feature/RunResult.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { RequestRecord, ReplyRecord } from "../../checkpoint/records/requestRecords.ts";
import { WaitingNotSupportedError } from "../../errors/requestErrors.ts";
import { eventLine } from "../../listeners/eventEmitter.ts";
import type { Clock } from "../../internal/Clock.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";

export interface AskedRequest {
  readonly event: InputRequestEvent;
  readonly pending: PendingRequest;
  readonly isNew: boolean;
}

/** Returns the records of requests and of the calls that wait for them, which are not in doubt. Closes the recorder. */
export function askedRecords(
  recorder: RunRecorder,
  events: readonly InputRequestEvent[],
  waiting: readonly string[],
): { readonly asked: readonly AskedRequest[]; readonly records: readonly AgentRecord[] } {
  const { journal, replies, setup } = recorder;
  const suspended = recorder.calls.suspend(waiting);
  recorder.closed = true;
  const now = journal.clock.now();
  const requests: RequestRecord[] = [];
  const asked = events.map((made) => {
    const before = replies?.askedBefore(made);
    const at = made.timer?.startedAt ?? before?.at ?? now;
    // The timer was recorded when its sleep started.
    if (made.timer) return { event: made, pending: pendingRequest(made, at), isNew: !before };
    const event = withoutUndefined({ ...made, problems: made.problems ?? replies?.problemsOf(made) });
    requests.push(requestRecord(recorder, event, at));
    setup.askedSchemas.add(journal.agentId, event.requestId, event.request.schema);
    return { event, pending: pendingRequest(event, at), isNew: !before };
  });
  return { asked, records: [...suspended, ...requests] };
}

export function tellOpened(
  { setup, journal, run }: RunRecorder,
  { nodeId, requestId, request, context }: InputRequestEvent,
): void {
  const { waitingFor } = askedQuestion(request);
  const origin = { agentId: journal.agentId, runId: run.run, ...eventLine(runOf(context)) };
  setup.tell({ type: "request_opened", ...origin, nodeId, requestId, waitingFor });
}

export function requestRecord(
  { journal: { writer }, lane }: RunRecorder,
  event: InputRequestEvent,
  at: number,
): RequestRecord {
  const { nodeId, visit, problems, request, question, requestId, approval } = event;
  const { prompt, schema, waitingFor } = askedQuestion(request);
  const { id, ordinal, within } = requestPlace(event);
  const around = callsAround(event.context);
  return withoutUndefined({
    kind: "request",
    lane,
    visit: visitIn(visit),
    request: requestId,
    node: nodeId,
    at,
    question,
    approval: approval && approvalIn(approval, writer),
    id,
    ordinal,
    within,
    around: around.length > 0 ? around : undefined,
    prompt: writer.value(prompt, "the prompt of a request"),
    schema: writer.value(schema, "the schema of a request"),
    waitingFor,
    event: event.timer?.event?.name,
    expiresAt: request.expiresAt?.getTime(),
    problems,
  });
}

function approvalIn({ call: { toolCallId: call, tool, input } }: ApprovalEvent, writer: ValueWriter) {
  return { call, tool: tool.name, input: writer.value(input, `the input of tool "${tool.name}"`) };
}

/** Returns the milliseconds until `end`, limited to the whole time, because the system clock can be set back. */
export function leftMs(clock: Clock, { at, end }: { readonly at: number; readonly end: number }): number {
  return Math.max(0, Math.min(end - clock.now(), end - at));
}

export type ReplyEnd = Pick<ReplyRecord, "answer" | "expired" | "rejected" | "refused" | "by">;

export function replyRecord({ clock }: Journal, lane: number, request: string, end: ReplyEnd): ReplyRecord {
  return { kind: "reply", lane, request, at: clock.now(), ...end };
}

export function assertKeepsRequests({ journal, setup }: RunRecorder, { nodeId, approval }: InputRequestEvent): void {
  if (setup.log.capabilities.keeps === undefined) return;
  throw new WaitingNotSupportedError(journal.agentId, nodeId, approval?.call.tool.name);
}

export function answerSubject(requestId: string): string {
  return `answer to request ${requestId}`;
}
