import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import type { Sdk } from "./sdks.ts";

/** What a model answers. */
type Answer = readonly LanguageModelV3Content[];

/** What a scripted model does when it is asked: answer, or fail once and then answer. */
export type Scripted = Answer | { readonly failsWith: Error; readonly afterwards: Answer };

export interface ScriptedModel extends LanguageModelV3 {
  /** What it was asked, in order. */
  readonly asked: LanguageModelV3CallOptions[];
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

/**
 * A model of a version of the AI SDK. Its answer follows from how many answers the prompt has, as with a real model: so it is
 * the same when it is asked again, in another process, too.
 */
export function scriptedModel(
  script: readonly Scripted[],
  { specificationVersion }: Pick<Sdk, "specificationVersion">,
  modelId = "scripted",
): ScriptedModel {
  const asked: LanguageModelV3CallOptions[] = [];
  const failed = new Set<number>();
  const next = (options: LanguageModelV3CallOptions) => {
    asked.push(options);
    const number = answersIn(options);
    const scripted = script[number];
    if (!scripted) throw new Error(`The script has no answer ${number}.`);
    if (!("failsWith" in scripted)) return { number, answer: scripted };
    if (failed.has(number)) return { number, answer: scripted.afterwards };
    failed.add(number);
    throw scripted.failsWith;
  };
  const model: ScriptedModel = {
    specificationVersion: "v3",
    provider: "test",
    modelId,
    supportedUrls: {},
    asked,
    doGenerate: async (options) => {
      const { number, answer } = next(options);
      return {
        content: [...answer],
        ...endOf(answer),
        warnings: [],
        request: { body: "the secret body of the request" },
        response: {
          id: `response-${number}`,
          headers: { "x-secret": "the secret header" },
          body: "the secret body",
        },
      };
    },
    doStream: async (options) => {
      const { number, answer } = next(options);
      const parts: LanguageModelV3StreamPart[] = [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: `response-${number}` },
        ...answer.flatMap((part, index) => piecesOf(part, String(index))),
        { type: "finish", ...endOf(answer) },
      ];
      return { stream: streamOf(parts) };
    },
  };
  return Object.assign(model, { specificationVersion });
}

/** How many answers a prompt has. */
export function answersIn({ prompt }: Pick<LanguageModelV3CallOptions, "prompt">): number {
  return prompt.filter(({ role }) => role === "assistant").length;
}

export function text(value: string): Answer {
  return [{ type: "text", text: value }];
}

/** A call, under an id that the provider gives to every call, unless another one is named. */
export function calling(toolName: string, input: object, toolCallId = "call_1"): LanguageModelV3Content {
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
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

function endOf(answer: Answer) {
  const calls = answer.some((part) => part.type === "tool-call" && !part.providerExecuted);
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
  const { toolCallId, input, type: _type, ...about } = part;
  return [
    { type: "tool-input-start", id: toolCallId, ...about },
    { type: "tool-input-delta", id: toolCallId, delta: input.slice(0, 3) },
    { type: "tool-input-delta", id: toolCallId, delta: input.slice(3) },
    { type: "tool-input-end", id: toolCallId },
    part,
  ];
}
