import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import type { ContentPart, ProviderOptions } from "../../checkpoint/messages/Message.ts";
import { UnusableModelAnswerError } from "../../errors/modelErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AiSdkFinishReason, AiSdkGeneration, AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { messageDataOf, type TaggedFileData, toolInputOf } from "./AiSdkPrompt.ts";
import { addUsage, type ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";

/** The response that the executor returns. */
export interface AiSdkAnswer extends PromptAnswer {
  /** `stop`, `tool-calls`, `length` (the response was cut off), `other` or `unknown`. */
  readonly finishReason: string;
  /** The finish reason in the provider's terms. Omitted before specification v3, or if unknown. */
  readonly rawFinishReason?: string;
}

/** Converts a complete response. Throws a `ModelAnswer…` error for an incomplete response. */
export function aiSdkResponse({ modelId, provider }: AiSdkLanguageModel, generation: AiSdkGeneration): AiSdkAnswer {
  const { finishReason } = generation;
  const given: AiSdkFinishReason = typeof finishReason === "string" ? { unified: finishReason } : finishReason;
  const { unified, raw } = given;
  const usage = usageOf(generation.usage);
  const refuse = (code: UnusableModelAnswerError["code"], detail?: string): never => {
    throw new UnusableModelAnswerError(code, modelId, provider, detail, usage);
  };
  if (unified === "content-filter") refuse("model_answer_filtered");
  if (unified === "error" || unified === "interrupted") refuse("model_answer_incomplete", raw);
  const content = contentOf(generation.content, (found) => refuse("unsupported_model_answer", found));
  if (!content.some(saysSomething)) refuse("model_answer_empty", unified);
  const message = { role: "assistant", content } as const;
  return withoutUndefined({ message, finishReason: unified, rawFinishReason: raw, usage });
}

function saysSomething(part: ContentPart): boolean {
  if (part.type === "text") return part.text.trim() !== "";
  if (part.type === "file") return part.reasoning !== true;
  return part.type !== "reasoning" && part.type !== "custom";
}

/** The parts of a response in any version of the specification. */
type GeneratedPart = { readonly providerMetadata?: ProviderOptions } & (
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | {
      readonly type: "file" | "reasoning-file";
      readonly mediaType: string;
      readonly data: string | Uint8Array | TaggedFileData;
    }
  | ToolCall
  | { readonly type: "custom"; readonly kind: string }
  | { readonly type: "source" }
);

interface ToolCall {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
  readonly providerExecuted?: boolean;
}

/**
 * Converts a response to the parts of a message. The metadata of a part, such as a signature of reasoning, becomes its
 * options, because the provider needs it in the next request. Sources are dropped.
 *
 * @param refuse throws an error for content that a message cannot contain
 */
function contentOf(
  content: readonly { readonly type: string }[],
  refuse: (found: string) => never,
): readonly ContentPart[] {
  return content.flatMap((part) => partOf(part as GeneratedPart, refuse) ?? []);
}

function partOf(part: GeneratedPart, refuse: (found: string) => never): ContentPart | undefined {
  const options = part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata };
  switch (part.type) {
    case "text":
      return part.text === "" ? undefined : { type: "text", text: part.text, ...options };
    case "reasoning":
      return { type: "reasoning", text: part.text, ...options };
    case "file":
    case "reasoning-file": {
      const reasoning = part.type === "reasoning-file" && ({ reasoning: true } as const);
      return { type: "file", data: messageDataOf(part.data), mediaType: part.mediaType, ...reasoning, ...options };
    }
    case "custom":
      return { type: "custom", kind: part.kind, ...options };
    case "source":
      return undefined;
    case "tool-call":
      return { ...toolCallOf(part, refuse), ...options };
    default:
      return refuse(`a part of type ${JSON.stringify((part as { readonly type: string }).type)}`);
  }
}

function toolCallOf(call: ToolCall, refuse: (found: string) => never): ContentPart {
  const { toolCallId, toolName, input } = call;
  if (call.providerExecuted === true) refuse(`a call that the provider executes itself (${JSON.stringify(toolName)})`);
  return { type: "tool-call", toolCallId, toolName, input: toolInputOf(input) };
}

/** The usage of specification v2. */
interface FlatUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** The usage of specifications v3 and v4. */
interface NestedUsage {
  readonly inputTokens: Readonly<Record<"total" | "noCache" | "cacheRead" | "cacheWrite", number | undefined>>;
  readonly outputTokens: Readonly<Record<"total" | "text" | "reasoning", number | undefined>>;
}

/** Converts the reported token usage to the form that the AI SDK displays. `undefined` if none is reported. */
export function usageOf(usage: unknown): ModelUsage | undefined {
  const given = Object(usage) as FlatUsage | NestedUsage;
  return addUsage(isNested(given) ? ofNested(given) : ofFlat(given), undefined);
}

function isNested(usage: FlatUsage | NestedUsage): usage is NestedUsage {
  return isObject(usage.inputTokens) && isObject(usage.outputTokens);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function ofNested({ inputTokens, outputTokens }: NestedUsage): ModelUsage {
  const { total: input } = inputTokens;
  const { total: output } = outputTokens;
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input === undefined || output === undefined ? undefined : input + output,
    inputTokenDetails: {
      noCacheTokens: inputTokens.noCache,
      cacheReadTokens: inputTokens.cacheRead,
      cacheWriteTokens: inputTokens.cacheWrite,
    },
    outputTokenDetails: { textTokens: outputTokens.text, reasoningTokens: outputTokens.reasoning },
  };
}

function ofFlat({ inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens }: FlatUsage): ModelUsage {
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    inputTokenDetails: { cacheReadTokens: cachedInputTokens },
    outputTokenDetails: { reasoningTokens },
  };
}
