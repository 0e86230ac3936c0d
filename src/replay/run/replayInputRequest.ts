import { endsOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RecordedInput } from "../recording/Recording.ts";
import { type ExactReplay, visitIn, withinOf } from "./ExactReplay.ts";
import { callInRecording } from "./replayToolCall.ts";
import { repliedTo, unaskedApproval } from "../results/repliedTo.ts";

/** Returns the recorded answer to a request for input or an approval, or the recorded end of a timer or a receipt. */
export async function replayInputRequest(replay: ExactReplay, event: InputRequestEvent): Promise<unknown> {
  const { context, request, approval } = event;
  const recorded = recordedInput(replay, event);
  if (approval && (!recorded?.reply || "answer" in recorded.reply) && callInRecording(replay, approval.call))
    return unaskedApproval;
  if (!recorded) {
    if (approval && (await approval.judge?.()) === false) return unaskedApproval;
    return replay.unrecorded(context, { what: "input", actual: { prompt: request.prompt } });
  }
  const { reply, requestId } = recorded;
  if (!reply) return replay.leave(context);
  const answer = await endsOf(context).deliver(requestId, () => repliedTo(event, recorded, reply));
  if (answer.isRefused) return replay.leave(context);
  return answer.value;
}

/** Returns the recorded request with the place of a request. */
export function recordedInput(replay: ExactReplay, event: InputRequestEvent): RecordedInput | undefined {
  const { context, request, question, ordinal, approval } = event;
  const place = { visit: visitIn(event.visit), id: request.id, question, ordinal, within: withinOf(context) };
  return replay.of(runOf(context)).records.input({ ...place, isApproval: approval !== undefined });
}
