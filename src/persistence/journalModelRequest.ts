import { callOf } from "../agent/ContextBinding.ts";
import type { ModelRequestEvent } from "../agent/PipelineEvents.ts";
import type { AssistantMessage } from "../checkpoint/Message.ts";
import type { Visit } from "../checkpoint/records.ts";
import type { RunSession } from "./RunSession.ts";

/**
 * A model request of a durable run: answered from the recording when the node runs again, else recorded. The answer is
 * not waited for here: it is durable before the first of its tool calls begins, or with the next checkpoint.
 */
export async function journalModelRequest(
  session: RunSession,
  event: ModelRequestEvent,
  next: (event: ModelRequestEvent) => Promise<AssistantMessage>,
): Promise<AssistantMessage> {
  const { journal, lane } = session;
  const visit: Visit = [event.visit.base, event.visit.ordinal];
  const within = callOf(event.context)?.toolCallId;
  // Read now: a move closes the context while the model thinks.
  const node = event.context.nodeId;
  const recorded = session.recording?.answer(visit, event.ordinal, within);
  if (recorded) {
    journal.writer.noteAnswer(recorded, visit, event.ordinal, within);
    return recorded;
  }
  const message = await next(event);
  if (session.closed) return message;
  const slot = journal.writer.value(message, "the answer of the model");
  journal.append([
    {
      kind: "answer",
      lane,
      visit,
      ordinal: event.ordinal,
      ...(within !== undefined && { within }),
      node,
      message: slot,
    },
  ]);
  journal.writer.noteAnswer(message, visit, event.ordinal, within);
  session.answersDurable = journal.durable();
  session.answersDurable.catch(() => {});
  return message;
}
