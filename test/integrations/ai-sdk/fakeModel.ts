import type { AiSdkGeneration, AiSdkLanguageModel } from "agent-persistence/ai-sdk";

/** What a fake model answers; absent: nothing, and it stops as usual. */
export interface FakeAnswer extends Omit<Partial<AiSdkGeneration>, "content"> {
  readonly content?: readonly { readonly type: string; readonly [key: string]: unknown }[];
}

export interface FakeModel extends AiSdkLanguageModel {
  /** The call options of each call, in order. */
  readonly calls: Readonly<Record<string, unknown>>[];
  readonly prompts: unknown[];
}

/** A model of any specification version, for what no OpenAI-compatible server can say. */
export function fakeModel(version: AiSdkLanguageModel["specificationVersion"], answer: FakeAnswer): FakeModel {
  const calls: Readonly<Record<string, unknown>>[] = [];
  const prompts: unknown[] = [];
  return {
    specificationVersion: version,
    provider: "fake",
    modelId: "served",
    calls,
    prompts,
    async doGenerate(options: Readonly<Record<string, unknown>>) {
      calls.push(options);
      prompts.push(options["prompt"]);
      const finishReason = version === "v2" ? "stop" : { unified: "stop", raw: undefined };
      return { content: [], finishReason, usage: {}, warnings: [], ...answer };
    },
  };
}
