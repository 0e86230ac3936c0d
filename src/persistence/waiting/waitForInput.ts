import { askedQuestion } from "../../agent/context/askedQuestion.ts";
import type { ApprovalEvent, InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { type PendingRequest, pendingRequest } from "../../agent/feature/RunResult.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import { requestPlace } from "../replay/RecordedAnswers.ts";

/**
 * A run ends as waiting: what it asked, the calls that wait within it and its status are durable together.
 *
 * @returns what it waits for.
 */
export async function waitForInput(
  recorder: RunRecorder,
  events: readonly InputRequestEvent[],
): Promise<readonly PendingRequest[]> {
  const { journal } = recorder;
  const suspended = recorder.suspendOpenCalls();
  const now = journal.clock.now();
  const asked = events.map((event) => ({
    event: withProblems(recorder, event),
    at: recorder.replies?.askedAt(event) ?? now,
    isNew: !recorder.replies?.wasAsked(event),
  }));
  const requests = asked.map(({ event, at }) => requestRecord(recorder, event, at));
  for (const { requestId, request } of events)
    recorder.setup.askedSchemas.add(journal.agentId, requestId, request.schema);
  const pending = asked.map(({ event, at }) => pendingRequest(event, at));
  const status = waitingStatus(pending, now);
  journal.append([...suspended, ...requests, ...statusRecords(journal.statusState, status)]);
  await journal.durable();
  journal.running = false;
  for (const { event, isNew } of asked) if (isNew) tellOpened(recorder, event);
  return pending;
}

function tellOpened({ setup, journal, run }: RunRecorder, { nodeId, requestId, request }: InputRequestEvent): void {
  const { waitingFor } = askedQuestion(request);
  setup.tell({ kind: "request_opened", agentId: journal.agentId, runId: run.run, nodeId, requestId, waitingFor });
}

function withProblems({ replies }: RunRecorder, event: InputRequestEvent): InputRequestEvent {
  return withoutUndefined({ ...event, problems: event.problems ?? replies?.problemsOf(event) });
}

function requestRecord(
  { journal: { writer }, lane }: RunRecorder,
  event: InputRequestEvent,
  at: number,
): RequestRecord {
  const { nodeId, visit, problems, request, question, requestId, approval } = event;
  const { prompt, schema, waitingFor } = askedQuestion(request);
  const { id, ordinal, within } = requestPlace(event);
  return {
    kind: "request",
    lane,
    visit: [visit.base, visit.ordinal],
    request: requestId,
    node: nodeId,
    at,
    question,
    ...(approval && { approval: approvalIn(approval, writer) }),
    ...(id !== undefined && { id }),
    ...(ordinal !== undefined && { ordinal }),
    ...(within !== undefined && { within }),
    prompt: writer.value(prompt, "the prompt of a request"),
    schema: writer.value(schema, "the schema of a request"),
    waitingFor,
    ...(request.expiresAt && { expiresAt: request.expiresAt.getTime() }),
    ...(problems && { problems }),
  };
}

function approvalIn({ call: { toolCallId: call, tool, input } }: ApprovalEvent, writer: ValueWriter) {
  return { call, tool: tool.name, input: writer.value(input, `the input of tool "${tool.name}"`) };
}

/** The status of a run that waits. It shows the first request, and falls due when the first of them expires. */
export function waitingStatus(requests: readonly PendingRequest[], at: number): Omit<StatusRecord, "kind" | "run"> {
  const [first] = requests;
  const until = Math.min(
    ...requests.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [Date.parse(expiresAt)])),
  );
  return {
    status: "waiting",
    at,
    requests: requests.map(({ requestId }) => requestId),
    ...(first && { waitingFor: first.waitingFor, prompt: first.prompt }),
    ...(Number.isFinite(until) && { until }),
  };
}
