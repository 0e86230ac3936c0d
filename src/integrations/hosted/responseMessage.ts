import type { AssistantMessage, ContentPart } from "../../checkpoint/messages/Message.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import type { GivenHostedResponse, HostedResponse } from "./HostedLoop.ts";

/** A response in the form of its record. Fields that only the other runtime understands are in `hosted`. */
type AnswerMessage = AssistantMessage & { readonly hosted?: unknown };

export function storedResponse({ message, opaque, usage, finishReason }: HostedResponse): PromptAnswer {
  const stored: AnswerMessage = { ...message, ...(opaque !== undefined && { hosted: opaque }) };
  return { message: stored, usage, finishReason };
}

export function hostedResponse(
  { message, usage, finishReason }: PromptAnswer,
  { replayed }: { readonly replayed: boolean },
): GivenHostedResponse {
  const { hosted: opaque, ...rest } = message as AnswerMessage;
  return { message: rest, replayed, ...withoutUndefined({ opaque, usage, finishReason }) };
}

export type ToolCallPart = Extract<ContentPart, { type: "tool-call" }>;

export function toolCallsIn(
  message: AssistantMessage,
): readonly { readonly part: ToolCallPart; readonly index: number }[] {
  if (typeof message.content === "string") return [];
  return message.content.flatMap((part, index) => (part.type === "tool-call" ? [{ part, index }] : []));
}
