/**
 * What this library needs of a language model of the AI SDK. Every model object of specification v2 (AI SDK 5),
 * v3 (AI SDK 6) and v4 (AI SDK 7) is one, as are models wrapped by its middleware.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** Whose model it is, such as `openai.chat`; named in errors. */
  readonly provider: string;
  /** Its name at the provider. */
  readonly modelId: string;
  /** Takes the call options of its specification version. */
  doGenerate(options: never): PromiseLike<AiSdkGeneration>;
  /** The same, as a stream. Absent: its answers come whole. */
  doStream?(options: never): PromiseLike<AiSdkStream>;
}

/** What a model streams: the parts of an answer. */
export interface AiSdkStream {
  readonly stream: ReadableStream<{ readonly type: string }>;
}

/** What a model gives back, as far as the versions of the specification agree. */
export interface AiSdkGeneration {
  readonly content: readonly { readonly type: string }[];
  /** A word in v2, an object from v3 on. */
  readonly finishReason: string | AiSdkFinishReason;
  readonly usage?: unknown;
  /** Settings that the provider ignored, and the like. */
  readonly warnings?: readonly unknown[];
}

/** Why a model stopped. */
export interface AiSdkFinishReason {
  readonly unified: string;
  /** The provider's own word. */
  readonly raw?: string | undefined;
}
