import type { ModelDelta } from "../../agent/model/PromptExecutor.ts";
import type { AiSdkGeneration, AiSdkStream } from "./AiSdkLanguageModel.ts";

interface TextPart {
  readonly type: `${GrowingPart["type"]}-${"start" | "delta" | "end"}`;
  readonly id: string;
  readonly delta?: string;
  readonly providerMetadata?: unknown;
}

type StreamPart =
  | TextPart
  | { readonly type: "stream-start"; readonly warnings: readonly unknown[] }
  | { readonly type: "finish"; readonly usage: unknown; readonly finishReason: AiSdkGeneration["finishReason"] }
  | { readonly type: "error"; readonly error: unknown };

interface GrowingPart {
  readonly type: "text" | "reasoning";
  text: string;
  providerMetadata?: unknown;
}

/** Part types that only announce or describe other parts. */
const ignored: ReadonlySet<string> = new Set([
  "tool-input-start",
  "tool-input-delta",
  "tool-input-end",
  "response-metadata",
  "raw",
]);

/** Reads a stream to its end and reports its deltas. @throws the error that the stream contains */
export async function streamedGeneration(
  { stream }: AiSdkStream,
  onDelta: (delta: ModelDelta) => void,
): Promise<AiSdkGeneration> {
  const answer = new StreamedAnswer(onDelta);
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) answer.add(read.value as StreamPart);
    return answer.generation;
  } catch (error) {
    await reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

class StreamedAnswer {
  readonly #content: { readonly type: string }[] = [];
  readonly #growing = new Map<string, GrowingPart>();
  readonly #onDelta: (delta: ModelDelta) => void;
  #warnings: readonly unknown[] = [];
  /** The initial value marks a stream that breaks off without a finish reason. */
  #end: Pick<AiSdkGeneration, "usage" | "finishReason"> = { finishReason: "interrupted" };

  constructor(onDelta: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta;
  }

  get generation(): AiSdkGeneration {
    return { content: this.#content, warnings: this.#warnings, ...this.#end };
  }

  add(part: StreamPart): void {
    switch (part.type) {
      case "stream-start":
        this.#warnings = part.warnings;
        return;
      case "finish":
        this.#end = { usage: part.usage, finishReason: part.finishReason };
        return;
      case "error":
        throw part.error;
      default:
        if (isTextPart(part)) this.#grow(part);
        else if (!ignored.has((part as { readonly type: string }).type)) this.#content.push(part);
    }
  }

  #grow({ type: partType, id, delta = "", providerMetadata }: TextPart): void {
    const type = partType.startsWith("text") ? "text" : "reasoning";
    const growing = this.#growing.get(`${type} ${id}`) ?? this.#begin(type, id);
    // The last metadata wins, because signatures arrive at the end.
    if (providerMetadata !== undefined) growing.providerMetadata = providerMetadata;
    if (delta === "") return;
    growing.text += delta;
    this.#onDelta({ type: `${type}-delta`, text: delta });
  }

  #begin(type: GrowingPart["type"], id: string): GrowingPart {
    const growing: GrowingPart = { type, text: "" };
    this.#growing.set(`${type} ${id}`, growing);
    this.#content.push(growing);
    return growing;
  }
}

function isTextPart(part: { readonly type: string }): part is TextPart {
  return /^(text|reasoning)-(start|delta|end)$/.test(part.type);
}
