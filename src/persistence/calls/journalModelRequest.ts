import { callOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { ModelRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { discardReplay } from "./discardReplay.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

/**
 * A model request of a durable run: answered from the recording when the node runs again, else recorded. The answer is
 * not waited for here: it is durable before the first of its tool calls begins, or with the next checkpoint.
 */
export async function journalModelRequest(
  recorder: RunRecorder,
  event: ModelRequestEvent,
  next: (event: ModelRequestEvent) => Promise<AssistantMessage>,
): Promise<AssistantMessage> {
  const { journal, lane } = recorder;
  const visit: Visit = [event.visit.base, event.visit.ordinal];
  const within = callOf(event.context)?.toolCallId;
  // Read now: a move closes the context while the model thinks.
  const node = event.context.nodeId;
  const asked = recorder.requests.of(event, within === undefined ? runOf(event.context).state.history : undefined);
  const recorded = recorder.recording?.answer(visit, event.ordinal, within);
  if (recorded && (recorded.asked === undefined || recorded.asked === asked)) {
    journal.writer.noteAnswer(recorded.message, visit, event.ordinal, within);
    return recorded.message;
  }
  if (recorded)
    discardReplay(recorder, event.context, visit, { recorded: "another model request", found: "a model request" });
  const message = await next(event);
  if (recorder.closed) return message;
  const slot = journal.writer.value(message, "the answer of the model");
  journal.append([
    {
      kind: "answer",
      lane,
      visit,
      ordinal: event.ordinal,
      ...(within !== undefined && { within }),
      asked,
      node,
      message: slot,
    },
  ]);
  journal.writer.noteAnswer(message, visit, event.ordinal, within);
  recorder.answersDurable = journal.durable();
  recorder.answersDurable.catch(() => {});
  return message;
}
