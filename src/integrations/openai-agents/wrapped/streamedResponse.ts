import { type Model, type ModelResponse, type StreamEvent, Usage, type UsageInput } from "@openai/agents-core";
import { snapshotRawUsage } from "@openai/agents-core/utils/internal";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";

type LastEvent = Extract<StreamEvent, { type: "response_done" }>;

/**
 * Assembles a streamed response. Forwards each event except the last one. If the stream fails after its last event,
 * forwards the last event too, because the SDK counts the tokens in that event.
 *
 * @throws TypeError if the stream ends without its last event
 */
export async function streamedResponse(
  events: ReturnType<Model["getStreamedResponse"]>,
  handOn: (event: StreamEvent) => void,
): Promise<ModelResponse> {
  let last: LastEvent | undefined;
  try {
    for await (const event of events) {
      if (event.type === "response_done") last = event;
      else handOn(event);
    }
  } catch (error) {
    if (last) handOn(last);
    throw error;
  }
  if (!last) throw new TypeError("the stream of the model ended without its event response_done");
  const { id: responseId, requestId, usage, output } = last.response;
  const rawUsage = rawUsageOf(last.response);
  return { responseId, ...withoutUndefined({ requestId, rawUsage }), output, usage: new Usage(usage as UsageInput) };
}

/** Returns `undefined` for raw usage that cannot be read or copied, which the SDK ignores as well. */
function rawUsageOf(response: LastEvent["response"]): ModelResponse["rawUsage"] {
  try {
    return snapshotRawUsage(response.rawUsage);
  } catch {
    return undefined;
  }
}

/** Yields a recorded response as stream events, except the last. */
export function* replayedEvents({ output }: ModelResponse): Iterable<StreamEvent> {
  yield { type: "response_started" };
  for (const item of output) {
    if (!("role" in item) || item.role !== "assistant") continue;
    const itemId = withoutUndefined({ itemId: item.id });
    for (const part of item.content) {
      if (part.type === "output_text") yield { type: "output_text_delta", delta: part.text, ...itemId };
    }
  }
}

export function lastEvent({ responseId, requestId, rawUsage, usage, output }: ModelResponse): LastEvent {
  const { requestUsageEntries, ...counts } = usage;
  const known = { ...counts, ...withoutUndefined({ requestUsageEntries }) };
  const optional = withoutUndefined({ requestId, rawUsage });
  return {
    type: "response_done",
    response: { id: responseId ?? "", usage: known, output: output as LastEvent["response"]["output"], ...optional },
  };
}
