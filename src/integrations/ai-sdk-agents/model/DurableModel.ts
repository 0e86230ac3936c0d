import { z } from "zod";
import type { RequestPlace } from "../../../agent/visit/hostedCalls.ts";
import { UnusableModelAnswerError } from "../../../errors/modelErrors.ts";
import { objectWithMethods } from "../../../internal/options/optionSchemas.ts";
import { generationSchema } from "../../ai-sdk/AiSdkLanguageModel.ts";
import { assertResponseShape } from "../../../agent/model/assertResponseShape.ts";
import type { GivenHostedResponse, HostedResponse, HostedLoop } from "../../hosted/HostedLoop.ts";
import {
  hostedResponseOf,
  generationOf,
  identified,
  isOwnCall,
  withCallId,
  promptWithProviderIds,
} from "./providerResponse.ts";
import type { ProviderCall, ProviderGeneration, ProviderModel, ProviderPart, ProviderStream } from "./ProviderModel.ts";
import { StreamedGeneration } from "./StreamedGeneration.ts";

const streamSchema = z.looseObject({ stream: objectWithMethods<ReadableStream>("getReader") });

export interface ModelRun {
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
      asked = identified(generation, this.modelId);
      return hostedResponseOf(asked);
    });
    const generation = generationOf(given);
    // Fields that are not recorded, such as headers, are returned only after a live request.
    return asked ? { ...asked, content: withIds(asked.content, generation.content) } : generation;
  }

  async doStream(call: ProviderCall): Promise<ProviderStream> {
    return new Promise((resolve, reject) => {
      const recorded: Promise<void> = this.#answer(async (place) => {
        const streaming = await this.#model.doStream(this.#callIn(call, place));
        assertResponseShape(streamSchema, streaming, this.modelId, this.provider);
        const { stream, ...rest } = streaming;
        const streamed = new StreamedGeneration((index) => place.toolCallId(index), this.modelId);
        const incomplete = new UnusableModelAnswerError("model_answer_incomplete", this.modelId, this.provider);
        return new Promise<HostedResponse>((whole, cut) => {
          resolve({
            ...rest,
            stream: recordedStream(stream, { streamed, whole, cut, recorded: () => recorded, incomplete }),
          });
        });
      }).then(async (given) => {
        if (given.replayed) resolve({ stream: replayedStream(generationOf(given)) });
        else await this.#run.loop.durable();
      });
      recorded.catch(reject);
    });
  }

  #answer(perform: (place: RequestPlace) => Promise<HostedResponse>): Promise<GivenHostedResponse> {
    return this.#run.loop.answer(perform, { model: this.modelId, provider: this.provider });
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
  readonly whole: (answer: HostedResponse) => void;
  readonly cut: (error: unknown) => void;
  readonly recorded: () => Promise<void>;
  /** The error of the run if the stream has no finish part. */
  readonly incomplete: Error;
}

/**
 * Forwards a stream and records the response. The AI SDK starts the tools when it receives the last part, so that part
 * is forwarded before the response is durable. The first records of the tools are then stored together with the
 * response. The AI SDK ends a step when its stream ends, so the stream ends only after the response is durable. An
 * incomplete response is not recorded.
 */
function recordedStream(
  stream: ReadableStream<ProviderPart>,
  { streamed, whole, cut, recorded, incomplete }: Recording,
): ReadableStream<ProviderPart> {
  const reader = stream.getReader();
  const end = async (controller: ReadableStreamDefaultController<ProviderPart>, part: ProviderPart) => {
    const generation = streamed.whole;
    if (!generation) return controller.enqueue(part);
    controller.enqueue({ type: "response-metadata", ...generation.response });
    whole(hostedResponseOf(generation));
    controller.enqueue(part);
    await recorded();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          // The AI SDK would treat the partial response as complete.
          if (!streamed.hasEnded) throw incomplete;
          return controller.close();
        }
        const part = streamed.add(value);
        if (part.type === "error") cut(part["error"]);
        if (part.type === "finish") return await end(controller, part);
        controller.enqueue(part);
      } catch (error) {
        cut(error);
        controller.error(error);
      }
    },
    async cancel(reason) {
      cut(reason);
      await reader.cancel(reason);
    },
  });
}

function withIds(content: readonly ProviderPart[], recorded: readonly ProviderPart[]): readonly ProviderPart[] {
  return content.map((part, index) =>
    isOwnCall(part) ? withCallId(part, { own: recorded[index]?.["toolCallId"], provided: part["toolCallId"] }) : part,
  );
}

/** Streams a recorded response, each part in one piece. */
function replayedStream(generation: ProviderGeneration): ReadableStream<ProviderPart> {
  const parts = [...partsOf(generation)];
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part) controller.enqueue(part);
      else controller.close();
    },
  });
}

function* partsOf(generation: ProviderGeneration): Generator<ProviderPart> {
  const { content, warnings = [], response, finishReason, usage, providerMetadata } = generation;
  yield { type: "stream-start", warnings };
  yield { type: "response-metadata", ...response };
  for (const [index, part] of content.entries()) yield* piecesOf(part, String(index));
  yield { type: "finish", finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

function* piecesOf(part: ProviderPart, id: string): Generator<ProviderPart> {
  const { type, text, input, ...fields } = part;
  const metadata = fields["providerMetadata"] !== undefined && { providerMetadata: fields["providerMetadata"] };
  switch (type) {
    case "text":
    case "reasoning":
      yield { type: `${type}-start`, id, ...metadata };
      yield { type: `${type}-delta`, id, delta: text };
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
