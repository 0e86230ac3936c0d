import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import { UnansweredToolCallError } from "../../errors/toolCallErrors.ts";
import { textOf } from "../model/nodes.ts";
import type { NextStep } from "../strategy/NextStep.ts";

interface NodeEnd {
  readonly output: unknown;
  readonly next: NextStep;
  readonly history: readonly Message[];
}

/**
 * Prevents lost tool calls. Rejects the end of a strategy or subgraph if its output is the text of a model response
 * with tool calls.
 *
 * @throws UnansweredToolCallError
 */
export function assertAnswered(nodeId: string, { output, next, history }: NodeEnd): void {
  const ended = endedWith(next);
  if (!ended || !isAnswer(output) || typeof output.content === "string") return;
  if (ended.value !== textOf(output)) return;
  const asked = output.content.filter((part) => part.type === "tool-call");
  if (asked.length === 0) return;
  const answered = new Set(
    history.flatMap(partsOf).flatMap((part) => (part.type === "tool-result" ? part.toolCallId : [])),
  );
  const open = asked.filter(({ toolCallId }) => !answered.has(toolCallId)).map(({ toolName }) => toolName);
  if (open.length > 0) throw new UnansweredToolCallError(nodeId, open);
}

function endedWith({ nodeId, input, crossings: [first] }: NextStep): { readonly value: unknown } | undefined {
  if (first) return first.kind === "left" ? { value: first.value } : undefined;
  return nodeId === "finish" ? { value: input } : undefined;
}

function isAnswer(output: unknown): output is Extract<Message, { role: "assistant" }> {
  const { role, content } = Object(output) as Partial<Message>;
  return role === "assistant" && (typeof content === "string" || Array.isArray(content));
}

function partsOf({ content }: Message): readonly ContentPart[] {
  return typeof content === "string" ? [] : content;
}
