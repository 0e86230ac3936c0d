import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";

/** What a scripted model does when it is asked: answer, or fail with an error. */
export type Scripted = readonly LanguageModelV3Content[] | Error;

export interface ScriptedModel extends LanguageModelV3 {
  /** What it was asked, in order. */
  readonly asked: LanguageModelV3CallOptions[];
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

/**
 * A model of the AI SDK 6. The answer follows from how many answers and results the prompt has, as with a real model: so
 * it is the same when it is asked again, in another process, too.
 */
export function scriptedModel(script: readonly Scripted[], modelId = "scripted"): ScriptedModel {
  const asked: LanguageModelV3CallOptions[] = [];
  const next = (options: LanguageModelV3CallOptions): readonly LanguageModelV3Content[] => {
    asked.push(options);
    const answer = script[asked.length - 1];
    if (!answer) throw new Error(`The script has no answer ${asked.length}.`);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return {
    specificationVersion: "v3",
    provider: "test",
    modelId,
    supportedUrls: {},
    asked,
    doGenerate: async (options) => ({
      content: [...next(options)],
      ...endOf(script[asked.length - 1]),
      warnings: [],
      request: { body: "the secret body of the request" },
      response: {
        id: `response-${asked.length}`,
        headers: { "x-secret": "the secret header" },
        body: "the secret body",
      },
    }),
    doStream: async (options) => {
      const answer = next(options);
      const parts: LanguageModelV3StreamPart[] = [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: `response-${asked.length}` },
        ...answer.flatMap((part, index) => piecesOf(part, String(index))),
        { type: "finish", ...endOf(answer) },
      ];
      return { stream: streamOf(parts) };
    },
  };
}

export function text(value: string): readonly LanguageModelV3Content[] {
  return [{ type: "text", text: value }];
}

/** A call, under an id that the provider gives to every call. */
export function calling(toolName: string, input: object): LanguageModelV3Content {
  return { type: "tool-call", toolCallId: "call_1", toolName, input: JSON.stringify(input) };
}

export function streamOf<Part>(parts: Iterable<Part>): ReadableStream<Part> {
  const left = [...parts];
  return new ReadableStream({
    pull(controller) {
      const part = left.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

function endOf(answer: Scripted | undefined) {
  const calls = Array.isArray(answer) && answer.some(({ type }: LanguageModelV3Content) => type === "tool-call");
  const unified = calls ? ("tool-calls" as const) : ("stop" as const);
  return { finishReason: { unified, raw: "the provider's word" }, usage, providerMetadata: { test: { cached: true } } };
}

function piecesOf(part: LanguageModelV3Content, id: string): LanguageModelV3StreamPart[] {
  if (part.type === "text" || part.type === "reasoning") {
    const [first = "", ...rest] = part.text.split(/(?<= )/);
    const deltas = [first, rest.join("")].map((delta) => ({ type: `${part.type}-delta` as const, id, delta }));
    return [{ type: `${part.type}-start`, id }, ...deltas, { type: `${part.type}-end`, id }];
  }
  if (part.type !== "tool-call") return [part];
  const { toolCallId, toolName, input } = part;
  return [
    { type: "tool-input-start", id: toolCallId, toolName },
    { type: "tool-input-delta", id: toolCallId, delta: input.slice(0, 3) },
    { type: "tool-input-delta", id: toolCallId, delta: input.slice(3) },
    { type: "tool-input-end", id: toolCallId },
    part,
  ];
}
