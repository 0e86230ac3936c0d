import { addUsage } from "../../checkpoint/status/ModelUsage.ts";
import { InvalidInputError, summaryOf } from "../../errors/agentErrors.ts";
import { UnusableModelAnswerError } from "../../errors/modelErrors.ts";
import { assertMessage } from "./assertMessage.ts";
import type { PromptAnswer } from "./PromptExecutor.ts";

interface AskedModel {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly maxToolCallsPerAnswer: number;
}

/** Checks the response of an executor, because executors return untyped data. @throws UnusableModelAnswerError */
export function checkedResponse(response: PromptAnswer, asked: AskedModel): PromptAnswer {
  const { message, usage, finishReason } = Object(response) as PromptAnswer;
  assertFewCalls(message, asked);
  try {
    assertMessage(message, "answer of the model", "assistant");
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new UnusableModelAnswerError(
      "model_answer_malformed",
      asked.model,
      asked.provider,
      summaryOf(error.problems),
    );
  }
  return {
    message,
    usage: addUsage(usage, undefined),
    finishReason: typeof finishReason === "string" ? finishReason : undefined,
  };
}

function assertFewCalls(message: unknown, { model, provider, maxToolCallsPerAnswer: most }: AskedModel): void {
  const { content } = Object(message) as { readonly content?: unknown };
  if (!Array.isArray(content) || content.length <= most) return;
  const calls = content.filter((part) => (Object(part) as { readonly type?: unknown }).type === "tool-call").length;
  if (calls <= most) return;
  throw new UnusableModelAnswerError(
    "too_many_tool_calls",
    model,
    provider,
    `${calls} tool calls, and at most ${most} are allowed`,
  );
}
