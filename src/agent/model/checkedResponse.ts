import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { addUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import { InvalidInputError, summaryOf } from "../../errors/agentErrors.ts";
import { UnusableModelAnswerError } from "../../errors/modelErrors.ts";
import { problemsOf } from "../../internal/options/checkSchema.ts";
import type { PromptAnswer } from "./PromptExecutor.ts";

interface AskedModel {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly maxToolCallsPerAnswer: number;
}

/** Validates the response of an executor. @throws UnusableModelAnswerError */
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

/** Created for the first message that is not plain text, because most programs have none. */
const messageSchema = z.lazy(() => {
  const providerOptions = z.record(z.string(), z.unknown()).optional();
  const text = z.looseObject({ type: z.literal("text"), text: z.string(), providerOptions });
  const reasoning = z.looseObject({ type: z.literal("reasoning"), text: z.string(), providerOptions });
  const file = z.looseObject({
    type: z.literal("file"),
    data: z.union([z.string(), z.instanceof(Uint8Array)]),
    mediaType: z.string(),
    providerOptions,
  });
  const call = z.looseObject({
    type: z.literal("tool-call"),
    toolCallId: z.string(),
    providerToolCallId: z.string().optional(),
    toolName: z.string(),
    providerOptions,
  });
  const result = z.looseObject({
    type: z.literal("tool-result"),
    toolCallId: z.string(),
    providerToolCallId: z.string().optional(),
    toolName: z.string(),
    isError: z.boolean().optional(),
    providerOptions,
  });
  const custom = z.looseObject({ type: z.literal("custom"), kind: z.string(), providerOptions });
  const parts = z.array(z.discriminatedUnion("type", [text, reasoning, file, call, result, custom]));
  const textOrParts = z.union([z.string(), parts]);
  return z.discriminatedUnion("role", [
    z.looseObject({ role: z.literal("system"), content: z.string() }),
    z.looseObject({ role: z.literal("user"), content: textOrParts }),
    z.looseObject({ role: z.literal("assistant"), content: textOrParts }),
    z.looseObject({ role: z.literal("tool"), content: parts }),
  ]);
});

const textRoles: ReadonlySet<unknown> = new Set(["system", "user", "assistant"]);

/** Validates a message. @param role Defaults to any role. @throws InvalidInputError */
export function assertMessage(message: Message, subject: string, role?: Message["role"]): void {
  const given: { readonly role?: unknown; readonly content?: unknown } = Object(message) as object;
  if (role !== undefined && given.role !== role) {
    const expected = `expected "${role}", found ${JSON.stringify(given.role) ?? "nothing"}`;
    throw new InvalidInputError(subject, [{ path: "role", expected }]);
  }
  // Parsing a text message with the schema would take longer than saving it.
  if (typeof given.content === "string" && textRoles.has(given.role)) return;
  const checked = messageSchema.safeParse(message);
  if (checked.success) return;
  const problems = checked.error.issues.map(({ path, message: expected }) => ({ path: path.join("."), expected }));
  throw new InvalidInputError(subject, problems);
}

/** Validates a response of an adapter with a schema. @throws UnusableModelAnswerError */
export function assertResponseShape(schema: z.ZodType, response: unknown, model: string, provider?: string): void {
  const checked = schema.safeParse(response);
  if (checked.success) return;
  const problem = summaryOf(problemsOf(checked.error));
  throw new UnusableModelAnswerError("model_answer_malformed", model, provider, problem);
}
