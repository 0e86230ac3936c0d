import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { UnusableModelAnswerError } from "../../errors/model/UnusableModelAnswerError.ts";
import type { AiSdkFinishReason, AiSdkGeneration, AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { assistantMessageOf } from "./assistantMessageOf.ts";

/** What the executor made of a model's answer. */
export interface AiSdkAnswer extends PromptAnswer {
  /** Tokens, as the provider counts them; its shape is that of the model's specification version. */
  readonly usage?: unknown;
  /** `stop`, `tool-calls`, `length` (the answer is cut off), `other` or `unknown`. */
  readonly finishReason: string;
  /** The provider's own word; absent before specification v3, or when it gave none. */
  readonly rawFinishReason?: string;
}

/** A whole answer; anything less is one of the `ModelAnswer…` errors. */
export function answerOf({ modelId, provider }: AiSdkLanguageModel, generation: AiSdkGeneration): AiSdkAnswer {
  const { unified, raw } = finishReasonOf(generation);
  if (unified === "content-filter") throw new UnusableModelAnswerError("model_answer_filtered", modelId, provider);
  if (unified === "error" || unified === "interrupted")
    throw new UnusableModelAnswerError("model_answer_incomplete", modelId, provider, raw);
  const message = assistantMessageOf(generation.content, (found) => {
    throw new UnusableModelAnswerError("unsupported_model_answer", modelId, provider, found);
  });
  if (!saysSomething(message)) throw new UnusableModelAnswerError("model_answer_empty", modelId, provider, unified);
  return {
    message,
    finishReason: unified,
    ...(raw !== undefined && { rawFinishReason: raw }),
    ...(generation.usage !== undefined && { usage: generation.usage }),
  };
}

function finishReasonOf({ finishReason }: AiSdkGeneration): AiSdkFinishReason {
  return typeof finishReason === "string" ? { unified: finishReason } : finishReason;
}

function saysSomething({ content }: AssistantMessage): boolean {
  if (typeof content === "string") return content !== "";
  return content.some((part) => part.type !== "reasoning" && (part.type !== "text" || part.text.trim() !== ""));
}
