import { z } from "zod";

const text = z.looseObject({ type: z.enum(["text", "reasoning"]), text: z.string() });
const call = z.looseObject({
  type: z.literal("tool-call"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: z.string(),
});
const checked: ReadonlySet<string> = new Set(["text", "reasoning", "tool-call"]);
const other = z.looseObject({ type: z.string().refine((type) => !checked.has(type)) });

/** The response fields that this library reads, in every specification version. */
export const generationSchema: z.ZodType = z.looseObject({
  content: z.array(z.union([text, call, other])),
  finishReason: z.union([z.string(), z.looseObject({ unified: z.string() })]),
});

/**
 * The members of an AI SDK language model that this library uses. Models of the specifications v2 (AI SDK 5), v3 (AI
 * SDK 6) and v4 (AI SDK 7) implement it, and so do models wrapped by AI SDK middleware.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** The provider, such as `openai.chat`. Errors include this name. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly modelId: string;
  /** Takes the call options of the specification version. */
  doGenerate(options: never): PromiseLike<AiSdkGeneration>;
  /** Streams the response. Models without this method return whole responses. */
  doStream?(options: never): PromiseLike<AiSdkStream>;
}

/** A streamed response of a model. */
export interface AiSdkStream {
  readonly stream: ReadableStream<{ readonly type: string }>;
}

/** The fields of a response that all specification versions share. */
export interface AiSdkGeneration {
  readonly content: readonly { readonly type: string }[];
  /** A string in v2, an object since v3. */
  readonly finishReason: string | AiSdkFinishReason;
  readonly usage?: unknown;
  /** Warnings of the provider, such as ignored settings. */
  readonly warnings?: readonly unknown[];
}

/** The reason why a model stopped. */
export interface AiSdkFinishReason {
  readonly unified: string;
  /** The reason in the provider's terms. */
  readonly raw?: string | undefined;
}

export interface ProviderPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface ProviderGeneration {
  readonly content: readonly ProviderPart[];
  /** The indexes of `content` in the order of the AI SDK. Omitted if both orders are equal. */
  readonly order?: readonly number[] | undefined;
  readonly finishReason: unknown;
  readonly usage?: unknown;
  readonly warnings?: readonly unknown[] | undefined;
  readonly providerMetadata?: unknown;
  readonly structuredOutputText?: string | undefined;
  readonly response?: ProviderResponse | undefined;
  readonly request?: unknown;
}

export interface ProviderResponse {
  readonly id?: string | undefined;
  readonly timestamp?: Date | undefined;
  readonly modelId?: string | undefined;
}

export interface ProviderStream {
  readonly stream: ReadableStream<ProviderPart>;
  readonly request?: unknown;
  readonly response?: unknown;
}

export interface ProviderCall {
  readonly prompt: readonly ProviderMessage[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly [option: string]: unknown;
}

export interface ProviderMessage {
  readonly role: string;
  readonly content: string | readonly ProviderPart[];
}

export interface ProviderModel extends Pick<AiSdkLanguageModel, "specificationVersion" | "provider" | "modelId"> {
  readonly supportedUrls?: unknown;
  doGenerate(call: ProviderCall): PromiseLike<ProviderGeneration>;
  doStream(call: ProviderCall): PromiseLike<ProviderStream>;
}
