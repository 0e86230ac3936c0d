import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { type PendingInput, pendingRequest } from "../../agent/feature/RunResult.ts";
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
): Promise<readonly PendingInput[]> {
  const { journal } = recorder;
  const suspended = recorder.suspendOpenCalls();
  const asked = events.map((event) => withProblems(recorder, event));
  const requests = asked.map((event) => requestRecord(recorder, event));
  for (const { requestId, request } of events)
    recorder.setup.askedSchemas.add(journal.agentId, requestId, request.schema);
  const pending = asked.map(pendingRequest);
  const status = waitingStatus(pending, journal.clock.now());
  journal.append([...suspended, ...requests, ...statusRecords(journal.statusState, status)]);
  await journal.durable();
  journal.running = false;
  return pending;
}

function withProblems({ replies }: RunRecorder, event: InputRequestEvent): InputRequestEvent {
  return withoutUndefined({ ...event, problems: event.problems ?? replies?.problemsOf(event) });
}

function requestRecord({ journal: { writer }, lane }: RunRecorder, event: InputRequestEvent): RequestRecord {
  const { nodeId, visit, problems, request, question } = event;
  const { prompt, schema, waitingFor, requestId } = pendingRequest(event);
  const { id, ordinal, within } = requestPlace(event);
  return {
    kind: "request",
    lane,
    visit: [visit.base, visit.ordinal],
    request: requestId,
    node: nodeId,
    question,
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

/** The status of a run that waits. It shows the first request, and falls due when the first of them expires. */
export function waitingStatus(requests: readonly PendingInput[], at: number): Omit<StatusRecord, "kind" | "run"> {
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
