import { endsOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RecordedInput } from "../recording/Recording.ts";
import type { ExactReplay } from "./ExactReplay.ts";
import { visitIn, withinOf } from "../results/recordedPlace.ts";
import { callInRecording } from "./replayToolCall.ts";
import { repliedTo, unaskedApproval } from "../results/repliedTo.ts";

type Next = (event: InputRequestEvent) => Promise<unknown>;

/** Returns the recorded answer to a request for input or an approval, or the recorded end of a timer or a receipt. */
export async function replayInputRequest(replay: ExactReplay, event: InputRequestEvent, next: Next): Promise<unknown> {
  const { context, approval } = event;
  const recorded = recordedInput(replay, event);
  if (approval && (!recorded?.reply || "answer" in recorded.reply) && callInRecording(replay, approval.call))
    return unaskedApproval;
  if (!recorded) return unrecorded(replay, event, next);
  const { reply, requestId } = recorded;
  if (!reply) return withoutReply(replay, event, next);
  const answer = await endsOf(context).deliver(requestId, () => repliedTo(event, recorded, reply));
  return answer.isRefused ? refused(replay, event, recorded) : answer.value;
}

async function unrecorded(replay: ExactReplay, event: InputRequestEvent, next: Next): Promise<unknown> {
  const { context, approval, request } = event;
  if (approval && (await approval.judge?.()) === false) return unaskedApproval;
  // A request that lost a race is not recorded.
  if (!approval && !replay.of(runOf(context)).isTail) return withoutReply(replay, event, next);
  return replay.unrecorded(context, { what: "input", actual: { prompt: request.prompt } });
}

/** Waits until the node is over, if the recorded node has continued without this request. */
function withoutReply(replay: ExactReplay, event: InputRequestEvent, next: Next): Promise<unknown> {
  const { context, timer } = event;
  if (replay.of(runOf(context)).isTail) return replay.leave(context);
  return next(timer ? { ...event, timer: { dueAt: timer.dueAt, leftMs: Infinity, mayWait: true } } : event);
}

/** The recorded answer does not fit the schema. */
function refused(replay: ExactReplay, event: InputRequestEvent, { prompt, reply }: RecordedInput): Promise<unknown> {
  const { context, request } = event;
  const run = runOf(context);
  if (replay.of(run).isTail) return replay.leave(context);
  const expected = { prompt, answer: reply?.answer };
  return replay.diverge(run, context.nodeId, { what: "input", expected, actual: { prompt: request.prompt } });
}

/** Returns the recorded request with the place of a request. */
export function recordedInput(replay: ExactReplay, event: InputRequestEvent): RecordedInput | undefined {
  const { context, request, question, ordinal, approval } = event;
  const place = { visit: visitIn(event.visit), id: request.id, question, ordinal, within: withinOf(context) };
  return replay.of(runOf(context)).records.input({ ...place, isApproval: approval !== undefined });
}
