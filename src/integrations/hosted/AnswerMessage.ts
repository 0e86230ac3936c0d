import type { AssistantMessage, ContentPart } from "../../checkpoint/messages/Message.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import type { GivenHostedAnswer, HostedAnswer } from "./HostedLoop.ts";

/** An answer as its record holds it: what only the other runtime understands is a field of the message. */
type AnswerMessage = AssistantMessage & { readonly hosted?: unknown };

/** For the log. */
export function storedAnswer({ message, opaque, usage, finishReason }: HostedAnswer): PromptAnswer {
  const stored: AnswerMessage = { ...message, ...(opaque !== undefined && { hosted: opaque }) };
  return { message: stored, usage, finishReason };
}

/** From the log. */
export function hostedAnswer(
  { message, usage, finishReason }: PromptAnswer,
  { replayed }: { readonly replayed: boolean },
): GivenHostedAnswer {
  const { hosted: opaque, ...rest } = message as AnswerMessage;
  return { message: rest, replayed, ...withoutUndefined({ opaque, usage, finishReason }) };
}

/** A tool call in the content of an answer. */
export type ToolCallPart = Extract<ContentPart, { type: "tool-call" }>;

/** The calls of an answer, with their index in its content. */
export function callsOf(message: AssistantMessage): readonly { readonly part: ToolCallPart; readonly index: number }[] {
  if (typeof message.content === "string") return [];
  return message.content.flatMap((part, index) => (part.type === "tool-call" ? [{ part, index }] : []));
}
