import { timerRequest } from "../../agent/context/InputRequest.ts";
import { endsOf } from "../../agent/feature/ContextBinding.ts";
import type { InputRequestEvent, TimerEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { RecordedTimer } from "../replay/RecordedAnswers.ts";
import { requestRecord } from "./askedRecords.ts";
import { assertKeepsRequests } from "./assertKeepsRequests.ts";
import { leftMs } from "./leftMs.ts";
import { replyRecord } from "./replyRecord.ts";

/** Handles a sleep or the receipt of an event. */
export async function journalWait(
  recorder: RunRecorder,
  event: InputRequestEvent & { readonly timer: TimerEvent },
  next: (event: InputRequestEvent) => Promise<unknown>,
): Promise<unknown> {
  const { event: arrival } = event.timer;
  if (!arrival) return journalTimer(recorder, event, next);
  const { journalReceipt } = await import("./journalReceipt.ts");
  return journalReceipt(recorder, { ...event, timer: { ...event.timer, event: arrival } }, next);
}

/**
 * Handles a sleep of a durable run. The timer is recorded before the sleep starts, so a crash does not change the time
 * at which the sleep ends. A recorded end of the sleep is valid regardless of the clock.
 */
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
  recorder.ends?.add(requestId);
  await endsOf(context).deliver(requestId, () => undefined);
}

/** Returns the timer with its recorded end time, and whether the run can end as `waiting` during the sleep. */
function timerOf(
  { setup: { clock, sleepInProcessMs } }: RunRecorder,
  recorded: RecordedTimer | undefined,
  asked: TimerEvent,
): TimerEvent {
  const dueAt = recorded?.dueAt ?? asked.dueAt;
  const left = recorded ? leftMs(clock, { at: recorded.at, end: dueAt }) : asked.leftMs;
  return { dueAt, leftMs: left, mayWait: left > sleepInProcessMs };
}
