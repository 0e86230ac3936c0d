import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  Usage,
  type UsageInput,
} from "@openai/agents-core";
import { snapshotRawUsage } from "@openai/agents-core/utils/internal";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import { EventQueue } from "../../hosted/EventQueue.ts";
import { currentRun } from "./DurableRun.ts";
import { recordedResponse } from "./recordedResponse.ts";

const durable = new WeakSet<Model>();
const wrappers = new WeakMap<Model, Map<string | undefined, Model>>();

/**
 * Returns a model whose responses are recorded in durable runs. Elsewhere, the model behaves like the original.
 *
 * @param name - the name by which the model was requested. `undefined` if unknown.
 */
export function durableModel(model: Model, name?: string): Model {
  if (durable.has(model)) return model;
  const named = wrappers.get(model) ?? new Map<string | undefined, Model>();
  wrappers.set(model, named);
  const known = named.get(name);
  if (known) return known;
  const wrapper = new Proxy(model, {
    get: (target, key) => {
      if (key === "getResponse") return (request: ModelRequest) => respond({ model: target, name }, request);
      if (key === "getStreamedResponse") return (request: ModelRequest) => stream({ model: target, name }, request);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  durable.add(wrapper);
  named.set(name, wrapper);
  return wrapper;
}

interface NamedModel {
  readonly model: Model;
  readonly name: string | undefined;
}

async function respond({ model, name }: NamedModel, request: ModelRequest): Promise<ModelResponse> {
  const run = currentRun();
  if (!run) return model.getResponse(request);
  const asked = run.ids.provided(request);
  const answered = async () => recordedResponse(await model.getResponse(asked), request, name);
  const given = await run.loop.answer(answered, { model: name });
  return run.ids.noted(given);
}

/** Streams a response. The SDK starts tools after the last event, so this event waits until the response is durable. */
async function* stream({ model, name }: NamedModel, request: ModelRequest): AsyncIterable<StreamEvent> {
  const run = currentRun();
  if (!run) return yield* model.getStreamedResponse(request);
  const events = new EventQueue<StreamEvent>();
  const asked = run.ids.provided(request);
  const handOn = (event: StreamEvent) => events.push(event);
  const streamed = async () =>
    recordedResponse(await streamedResponse(model.getStreamedResponse(asked), handOn), request, name);
  const answered = run.loop.answer(streamed, { model: name });
  const ended = answered.then(async (given) => {
    const response = run.ids.noted(given);
    if (given.replayed) for (const event of replayedEvents(response)) events.push(event);
    else await run.loop.durable();
    events.push(lastEvent(response));
    events.end();
  });
  ended.catch((error: unknown) => events.fail(error));
  yield* events;
}

type LastEvent = Extract<StreamEvent, { type: "response_done" }>;

/**
 * Forwards the events of a stream except for the last one, and returns the response in it. If the stream fails after
 * its last event, forwards this event as well, because the SDK counts its tokens.
 *
 * @throws TypeError if the stream ends without its last event
 */
async function streamedResponse(
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

/** Returns `undefined` for raw usage that cannot be read or copied. The SDK ignores such usage as well. */
function rawUsageOf(response: LastEvent["response"]): ModelResponse["rawUsage"] {
  try {
    return snapshotRawUsage(response.rawUsage);
  } catch {
    return undefined;
  }
}

/** Yields the events of a recorded response, except for the last one. */
function* replayedEvents({ output }: ModelResponse): Iterable<StreamEvent> {
  yield { type: "response_started" };
  for (const item of output) {
    if (!("role" in item) || item.role !== "assistant") continue;
    const itemId = withoutUndefined({ itemId: item.id });
    for (const part of item.content) {
      if (part.type === "output_text") yield { type: "output_text_delta", delta: part.text, ...itemId };
    }
  }
}

function lastEvent({ responseId, requestId, rawUsage, usage, output }: ModelResponse): LastEvent {
  const { requestUsageEntries, ...counts } = usage;
  const known = { ...counts, ...withoutUndefined({ requestUsageEntries }) };
  const optional = withoutUndefined({ requestId, rawUsage });
  return {
    type: "response_done",
    response: { id: responseId ?? "", usage: known, output: output as LastEvent["response"]["output"], ...optional },
  };
}
