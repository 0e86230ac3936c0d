import { z } from "zod";
import { assertResponseShape } from "../../../agent/model/checkedResponse.ts";
import type { RequestPlace } from "../../../agent/node/hostedCalls.ts";
import { UnusableModelAnswerError } from "../../../errors/modelErrors.ts";
import { RunStoppedError } from "../../../errors/runErrors.ts";
import { objectWithMethods } from "../../../internal/options/optionSchemas.ts";
import {
  generationSchema,
  type ProviderCall,
  type ProviderGeneration,
  type ProviderModel,
  type ProviderPart,
  type ProviderStream,
} from "../../ai-sdk/AiSdkLanguageModel.ts";
import type { GivenHostedResponse, HostedResponse, HostedLoop, HostedPlace } from "../../hosted/HostedLoop.ts";
import { EventQueue } from "../../hosted/EventQueue.ts";
import type { ResponsePieces, HostedPiece, HostedPieces } from "../../hosted/HostedPieces.ts";
import { hostedResponseOf, generationOf, identified, withCallId, promptWithProviderIds } from "./providerResponse.ts";
import { isInterrupted, isOwnCall, StreamedGeneration } from "../../ai-sdk/StreamedGeneration.ts";

const streamSchema = z.looseObject({ stream: objectWithMethods<ReadableStream>("getReader") });

interface ModelRun {
  /** @throws TypeError outside a run. */
  readonly loop: HostedLoop;
}

export class DurableModel implements ProviderModel {
  readonly specificationVersion: ProviderModel["specificationVersion"];
  readonly provider: string;
  readonly modelId: string;
  readonly #model: ProviderModel;
  readonly #run: ModelRun;

  constructor(model: ProviderModel, run: ModelRun) {
    this.specificationVersion = model.specificationVersion;
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.#model = model;
    this.#run = run;
  }

  get supportedUrls(): unknown {
    return this.#model.supportedUrls ?? {};
  }

  async doGenerate(call: ProviderCall): Promise<ProviderGeneration> {
    let asked: ProviderGeneration | undefined;
    const given = await this.#answer(async (place) => {
      const generation = await this.#model.doGenerate(this.#callIn(call, place));
      assertResponseShape(generationSchema, generation, this.modelId, this.provider);
      if (isInterrupted(generation.finishReason)) throw this.#incomplete();
      asked = identified(generation, this.modelId);
      return hostedResponseOf(asked);
    });
    const generation = generationOf(given);
    // Only a new response has fields that are not recorded, such as headers.
    return asked ? { ...asked, content: withIds(asked.content, generation.content) } : generation;
  }

  async doStream(call: ProviderCall): Promise<ProviderStream> {
    const { loop } = this.#run;
    const pieces = loop.nextPieces?.();
    if (!pieces) return this.#streamed(call);
    const unasked = () => Promise.reject(new TypeError("A loop that follows a run makes no requests."));
    const generation = this.#answer(unasked).then(generationOf);
    return { stream: streamOf(followedParts(loop, pieces, generation)) };
  }

  #streamed(call: ProviderCall): Promise<ProviderStream> {
    let shown: ResponsePieces | undefined;
    return new Promise((resolve, reject) => {
      const recorded: Promise<void> = this.#answer(async (place) => {
        const streaming = await this.#model.doStream(this.#callIn(call, place));
        assertResponseShape(streamSchema, streaming, this.modelId, this.provider);
        const { stream, ...rest } = streaming;
        shown = place.pieces;
        const streamed = new StreamedGeneration(this.modelId);
        const incomplete = this.#incomplete();
        return new Promise<HostedResponse>((whole, cut) => {
          resolve({
            ...rest,
            stream: recordedStream(stream, { streamed, place, whole, cut, recorded: () => recorded, incomplete }),
          });
        });
      }).then(async (given) => {
        if (given.replayed) resolve({ stream: streamOf(replayedParts(generationOf(given), this.#run.loop.agentId)) });
        else await this.#run.loop.durable();
        void shown?.remove();
      });
      recorded.catch(reject);
    });
  }

  #answer(perform: (place: HostedPlace) => Promise<HostedResponse>): Promise<GivenHostedResponse> {
    return this.#run.loop.answer(perform, { model: this.modelId, provider: this.provider });
  }

  #incomplete(): UnusableModelAnswerError {
    return new UnusableModelAnswerError("model_answer_incomplete", this.modelId, this.provider);
  }

  #callIn(call: ProviderCall, { signal }: RequestPlace): ProviderCall {
    const { prompt, abortSignal } = call;
    return {
      ...call,
      prompt: promptWithProviderIds(prompt),
      abortSignal: abortSignal ? AbortSignal.any([abortSignal, signal]) : signal,
    };
  }
}

interface Recording {
  readonly streamed: StreamedGeneration;
  readonly place: HostedPlace;
  readonly whole: (answer: HostedResponse) => void;
  readonly cut: (error: unknown) => void;
  readonly recorded: () => Promise<void>;
  /** The error that ends the run if the response is incomplete. */
  readonly incomplete: Error;
}

/**
 * Forwards a stream and records the response. After the last part, the AI SDK starts the tools. The last part is
 * forwarded before the response is durable, so that the first records of the tools are stored together with the
 * response. The AI SDK ends a step at the end of its stream, so the stream ends only after the response is durable. An
 * incomplete response is not recorded.
 *
 * Reads the stream to its end even if the reader is slow or stops reading, because the run waits for the response.
 */
function recordedStream(
  stream: ReadableStream<ProviderPart>,
  { streamed, place, whole, cut, recorded, incomplete }: Recording,
): ReadableStream<ProviderPart> {
  const reader = stream.getReader();
  const parts = new EventQueue<ProviderPart>();
  /** Fails the request. Waits until the number of the request is free again, so that a retry gets this number. */
  const fail = async (error: unknown) => {
    cut(error);
    await recorded().catch(() => undefined);
  };
  const end = async (part: ProviderPart) => {
    if (streamed.hasFailed || !streamed.hasEnded) return;
    const { generation } = streamed;
    parts.push({ type: "response-metadata", ...generation.response });
    whole(hostedResponseOf(generation));
    parts.push(part);
    await recorded();
  };
  const forward = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const part = ownPart(value, streamed, place);
      if (part.type === "error") await fail(part["error"]);
      if (part.type === "finish") await end(part);
      else parts.push(part);
    }
    // An incomplete or failed response is an error, because the AI SDK would treat it as complete.
    if (!streamed.hasEnded || streamed.hasFailed) {
      cut(incomplete);
      await recorded();
    }
    parts.end();
  };
  // If the request fails before its stream ends, for example because the run is cancelled, the stream is cancelled.
  recorded()
    .catch((error: unknown) => (streamed.hasFailed ? undefined : reader.cancel(error)))
    .catch(() => undefined);
  forward().catch((error: unknown) => fail(error).then(() => parts.fail(error)));
  const leave = async (reason: unknown): Promise<IteratorReturnResult<undefined>> => {
    await Promise.all([fail(reason), reader.cancel(reason)]);
    return { done: true, value: undefined };
  };
  const read = parts[Symbol.asyncIterator]();
  return streamOf({ [Symbol.asyncIterator]: () => ({ next: () => read.next(), return: leave }) });
}

/** Adds a part to the response and shows its text to other processes. Returns the part with the library's call id. */
function ownPart(part: ProviderPart, streamed: StreamedGeneration, { pieces, toolCallId }: HostedPlace): ProviderPart {
  const index = streamed.add(part);
  if (part.type === "response-metadata") return { ...part, ...streamed.generation.response };
  if (index === undefined) return part;
  if (part.type === "tool-call") return withCallId(part, { own: toolCallId(index), provided: part["toolCallId"] });
  if (part.type.startsWith("tool-input-")) return { ...part, id: toolCallId(index) };
  const kind = part.type === "text-delta" ? "text" : part.type === "reasoning-delta" && "reasoning";
  if (kind) pieces?.add({ kind, index, text: String(part["delta"]) });
  return part;
}

function withIds(content: readonly ProviderPart[], recorded: readonly ProviderPart[]): readonly ProviderPart[] {
  return content.map((part, index) =>
    isOwnCall(part) ? withCallId(part, { own: recorded[index]?.["toolCallId"], provided: part["toolCallId"] }) : part,
  );
}

/**
 * Yields a response that another process receives: its texts at once, and the rest when it is recorded.
 *
 * @throws RunStoppedError if the response was cut off, or if another response was recorded
 */
async function* followedParts(
  { agentId, signal }: HostedLoop,
  pieces: HostedPieces,
  recorded: Promise<ProviderGeneration>,
): AsyncGenerator<ProviderPart, void, undefined> {
  const settled = new AbortController();
  const end = () => settled.abort();
  recorded.then(end, end);
  const over = AbortSignal.any([signal, settled.signal]);
  const texts: HostedPiece[] = [];
  yield { type: "stream-start", warnings: [] };
  while (!over.aborted) {
    const found = await pieces.next(over);
    if (!found && texts.length > 0) throw new RunStoppedError(agentId, "interrupted");
    for (const piece of found ?? []) yield* shown(piece, texts);
  }
  yield* restOf(await recorded, texts, agentId);
}

function* restOf(
  { content, response, finishReason, usage, providerMetadata }: ProviderGeneration,
  texts: readonly HostedPiece[],
  agentId: string,
): Generator<ProviderPart> {
  yield { type: "response-metadata", ...response };
  for (const [index, part] of content.entries()) {
    const { kind, text = "" } = texts[index] ?? {};
    const isSame = kind === undefined || (part.type === kind && String(part["text"]).startsWith(text));
    if (!isSame) throw new RunStoppedError(agentId, "interrupted");
    yield* piecesOf(part, String(index), text);
  }
  yield { type: "finish", finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

/** Yields a piece only if all earlier parts of the response were yielded, so that the parts keep their order. */
function* shown({ kind, index, text }: HostedPiece, texts: HostedPiece[]): Generator<ProviderPart> {
  const known = texts[index];
  if (text === "" || (known ? index !== texts.length - 1 : index !== texts.length)) return;
  const id = String(index);
  if (!known) yield { type: `${kind}-start`, id };
  texts[index] = { kind, index, text: (known?.text ?? "") + text };
  yield { type: `${kind}-delta`, id, delta: text };
}

async function* replayedParts(generation: ProviderGeneration, agentId: string): AsyncGenerator<ProviderPart> {
  yield { type: "stream-start", warnings: generation.warnings ?? [] };
  yield* restOf(generation, [], agentId);
}

/** Yields one part of a response. @param shown - the start of the text, which was already yielded. */
function* piecesOf(part: ProviderPart, id: string, shown = ""): Generator<ProviderPart> {
  const { type, text, input, ...fields } = part;
  const metadata = fields["providerMetadata"] !== undefined && { providerMetadata: fields["providerMetadata"] };
  switch (type) {
    case "text":
    case "reasoning":
      if (shown === "") yield { type: `${type}-start`, id, ...metadata };
      if (text !== shown) yield { type: `${type}-delta`, id, delta: String(text).slice(shown.length) };
      yield { ...fields, type: `${type}-end`, id };
      return;
    case "tool-call": {
      const { toolCallId, ...call } = fields;
      yield { ...call, type: "tool-input-start", id: toolCallId };
      yield { type: "tool-input-delta", id: toolCallId, delta: input };
      yield { type: "tool-input-end", id: toolCallId };
      yield part;
      return;
    }
    default:
      yield part;
  }
}

export function streamOf<Part>(parts: AsyncIterable<Part>): ReadableStream<Part> {
  return (ReadableStream as unknown as { from(source: typeof parts): ReadableStream<Part> }).from(parts);
}
