import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";

export interface ProviderPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

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

export interface ProviderModel {
  readonly specificationVersion: AiSdkLanguageModel["specificationVersion"];
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls?: unknown;
  doGenerate(call: ProviderCall): PromiseLike<ProviderGeneration>;
  doStream(call: ProviderCall): PromiseLike<ProviderStream>;
}
