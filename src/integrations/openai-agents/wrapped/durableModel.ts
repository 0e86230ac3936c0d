import type { Model, ModelRequest, ModelResponse, StreamEvent } from "@openai/agents-core";
import { lastEvent, replayedEvents, streamedResponse } from "./streamedResponse.ts";
import { currentRun } from "./currentRun.ts";
import { EventQueue } from "../../hosted/EventQueue.ts";
import { recordedResponse } from "./recordedAnswer.ts";

const durable = new WeakSet<Model>();
const wrappers = new WeakMap<Model, Map<string | undefined, Model>>();

/**
 * Returns a model whose responses are recorded inside durable runs. Outside of runs it behaves like the original.
 *
 * @param name the name that the model was requested by, or `undefined` if unknown
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

/**
 * Streams a response. The SDK starts the tools after the last event, so the last event is delayed until the response is
 * durable.
 */
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
