import { eventRequest } from "../../agent/context/InputRequest.ts";
import { endsOf } from "../../agent/feature/ContextBinding.ts";
import type { ArrivalEvent, InputRequestEvent, TimerEvent } from "../../agent/feature/PipelineEvents.ts";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { RequestRejectedError } from "../../errors/requestErrors.ts";
import { AgentBusyError, StorageError } from "../../errors/storageErrors.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { onAbort } from "../../internal/abortable.ts";
import type { Inbox } from "../../journal/inbox/Inbox.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import type { RecordedTimer } from "../replay/RecordedAnswers.ts";
import { requestRecord, leftMs, replyRecord, assertKeepsRequests } from "./askedRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

type Receipt = InputRequestEvent & { readonly timer: TimerEvent & { readonly event: ArrivalEvent } };

/** Receives an event. The request is stored first, so that a crash or a rollback does not lose the event. */
export async function journalReceipt(
  recorder: RunRecorder,
  event: Receipt,
  next: (event: InputRequestEvent) => Promise<unknown>,
): Promise<unknown> {
  assertKeepsRequests(recorder, event);
  const { replies, setup, journal, lane } = recorder;
  const { requestId, timer } = event;
  const { clock } = setup;
  const { agentId, writer } = journal;
  const reply = replies?.of(event);
  if (reply) {
    if ("rejected" in reply) throw new RequestRejectedError(agentId, reply.requestId, reply.rejected, reply.by);
    return delivered(event, reply.requestId, "answer" in reply ? reply.answer : undefined);
  }
  const inbox = await setup.inbox();
  const { dueAt, at, receipts, request } = await recordRequest(recorder, event, inbox);
  const mayWaitAt = clock.monotonic() + setup.sleepInProcessMs;
  const ended = (end: { readonly expired: true } | { readonly answer: StoredValue }, answer?: unknown) => {
    journal.append([replyRecord(journal, lane, requestId, end)]);
    endsOf(event.context).add(requestId);
    return delivered(event, requestId, answer);
  };
  for (;;) {
    const { arrivals } = inbox;
    const asked = { request: requestId, event: timer.event.name, receipts };
    const answer = timer.event.isLeft() ? undefined : await inbox.take(agentId, asked);
    if (answer) return ended({ answer: writer.value(answer, "the payload of an event") }, answer);
    const left = leftMs(clock, { at, end: dueAt });
    if (left === 0) return ended({ expired: true });
    const inProcessMs = Math.max(0, mayWaitAt - clock.monotonic());
    const onArrival = (end: () => void) => inbox.onArrival(agentId, { clock, since: arrivals }, end);
    await next({
      ...event,
      request,
      timer: {
        dueAt,
        startedAt: at,
        leftMs: left,
        get mayWait() {
          return clock.monotonic() >= mayWaitAt;
        },
        event: { ...timer.event, inProcessMs, onArrival },
      },
    });
  }
}

/** Records a new request with the current number of receipts in the inbox. Durable when the promise resolves. */
async function recordRequest(
  recorder: RunRecorder,
  event: Receipt,
  inbox: Inbox,
): Promise<Pick<RecordedTimer, "dueAt" | "at" | "receipts"> & { readonly request: InputRequestEvent["request"] }> {
  const { replies, journal } = recorder;
  const { requestId, timer } = event;
  const recorded = replies?.timerOf(event);
  const { dueAt, at } = recorded ?? { dueAt: timer.dueAt, at: journal.clock.now() };
  const request = eventRequest(timer.event.name, dueAt);
  if (recorded?.requestId === requestId) {
    await journal.durable();
    return { ...recorded, request };
  }
  const receipts = await inbox.receipts(journal.agentId);
  await journal.store([{ ...requestRecord(recorder, { ...event, request }, at), receipts }]);
  return { dueAt, at, receipts, request };
}

/** Resolves to the event of a waiting request, or to `undefined` if the request no longer waits. */
export async function arrival(
  { setup, journal: { agentId } }: RunRecorder,
  pending: PendingRequest,
  ended: AbortSignal,
): Promise<unknown> {
  if (pending.kind !== "event") return undefined;
  const inbox = await setup.inbox();
  while (!ended.aborted) {
    const { arrivals: since } = inbox;
    const taken = await inbox.take(agentId, { request: pending.requestId, event: pending.eventName }).catch(nothingYet);
    if (taken) return taken;
    const stops: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      stops.push(inbox.onArrival(agentId, { clock: setup.clock, since }, resolve), onAbort(ended, resolve));
      if (ended.aborted) resolve();
    });
    for (const stop of stops) stop();
  }
  return undefined;
}

/** Ignores a storage that fails or is busy, because the next attempt may succeed. */
function nothingYet(error: unknown): undefined {
  if (!(error instanceof StorageError || error instanceof AgentBusyError)) throw error;
}

/** @param answer `undefined` if the event did not arrive in time. */
function delivered({ context, timer: { event } }: Receipt, requestId: string, answer: unknown): Promise<unknown> {
  return endsOf(context).deliver(requestId, () => {
    if (answer === undefined) return undefined;
    const { payload } = answer as { readonly payload: unknown };
    return checkSchemaAsync(event.schema, payload, `payload of event "${event.name}"`);
  });
}

/**
 * Makes the events of abandoned requests without a recorded reply available again. Call this before the log contains
 * the move, because until then the same requests can receive the events again. `received` are the requests whose
 * replies the run has not read.
 */
export async function giveBackEvents(
  setup: PersistenceSetup,
  { log: { agentId, index }, state }: { readonly log: AgentLog; readonly state?: AgentState },
  received: readonly string[] = [],
): Promise<void> {
  const unanswered = [...(state?.requests.keys() ?? []), ...index.requests.unanswered].filter((id) => {
    const known = state?.requests.get(id) ?? index.requests.get(id);
    return known?.reply === undefined && known?.record.event !== undefined;
  });
  const requests = [...new Set([...unanswered, ...received])];
  if (requests.length > 0) await (await setup.inbox()).rollBack(agentId, requests, []);
}
