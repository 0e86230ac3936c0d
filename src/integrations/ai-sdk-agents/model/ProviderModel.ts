import type { AiSdkLanguageModel } from "../../ai-sdk/AiSdkLanguageModel.ts";

/** A part of an answer, as a model of any specification version gives it. */
export interface ProviderPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What a model answers, as far as it matters here. */
export interface ProviderGeneration {
  readonly content: readonly ProviderPart[];
  readonly finishReason: unknown;
  readonly usage?: unknown;
  readonly warnings?: readonly unknown[] | undefined;
  readonly providerMetadata?: unknown;
  readonly structuredOutputText?: string | undefined;
  readonly response?: ProviderResponse | undefined;
  readonly request?: unknown;
}

/** What a model says of its answer. */
export interface ProviderResponse {
  readonly id?: string | undefined;
  readonly timestamp?: Date | undefined;
  readonly modelId?: string | undefined;
}

/** What a model streams. */
export interface ProviderStream {
  readonly stream: ReadableStream<ProviderPart>;
  readonly request?: unknown;
  readonly response?: unknown;
}

/** The options of a request. */
export interface ProviderCall {
  readonly prompt: readonly ProviderMessage[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly [option: string]: unknown;
}

/** A message of a prompt. */
export interface ProviderMessage {
  readonly role: string;
  readonly content: string | readonly ProviderPart[];
}

/** A model that is called without knowing its specification version. */
export interface ProviderModel {
  readonly specificationVersion: AiSdkLanguageModel["specificationVersion"];
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls?: unknown;
  doGenerate(call: ProviderCall): PromiseLike<ProviderGeneration>;
  doStream(call: ProviderCall): PromiseLike<ProviderStream>;
}
