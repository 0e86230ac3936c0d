import { pendingRequest } from "../../agent/feature/pendingRequest.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { statusRecords } from "../../checkpoint/life/statusRecords.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { requestPlace } from "../replay/RecordedReplies.ts";
import type { RunSession } from "../record/RunSession.ts";
import { waitingStatus } from "./waitingStatus.ts";

/** A run ends as waiting: what it asked, the calls that wait within it and its status are durable together. */
export async function waitForInput(
  setup: PersistenceSetup,
  session: RunSession,
  events: readonly InputRequestEvent[],
): Promise<void> {
  const { journal } = session;
  const suspended = session.suspendCalls();
  const requests = events.map((event) => requestRecord(session, event));
  for (const { requestId, request } of events) setup.askedSchemas.add(journal.agentId, requestId, request.schema);
  const status = waitingStatus(events.map(pendingRequest), journal.clock.now());
  journal.append([...suspended, ...requests, ...statusRecords(journal.life, status)]);
  await journal.durable();
  journal.running = false;
}

function requestRecord({ journal: { writer }, lane }: RunSession, event: InputRequestEvent): RequestRecord {
  const { nodeId, visit, problems, request } = event;
  const { prompt, schema, waitingFor, requestId } = pendingRequest(event);
  const { id, ordinal, within } = requestPlace(event);
  return {
    kind: "request",
    lane,
    visit: [visit.base, visit.ordinal],
    request: requestId,
    node: nodeId,
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
