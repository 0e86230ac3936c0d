import type { Attributes } from "@opentelemetry/api";
import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import type { TelemetryFacts, TelemetryKind } from "../../telemetry/TelemetryOperation.ts";

/**
 * Returns messages, inputs and outputs as JSON attributes according to the conventions. Empty unless content is
 * enabled.
 */
export function contentAttributes(kind: TelemetryKind, { content, finishReason }: TelemetryFacts): Attributes {
  if (!content) return {};
  const { messages, answer, input, output } = content;
  const isTool = kind === "execute_tool";
  return {
    ...(messages && { "gen_ai.input.messages": json(messages.map(shownMessage)) }),
    ...(answer && { "gen_ai.output.messages": json([{ ...shownMessage(answer), finish_reason: finishReason }]) }),
    ...("input" in content && { [isTool ? "gen_ai.tool.call.arguments" : "agent_persistence.input"]: json(input) }),
    ...("output" in content && { [isTool ? "gen_ai.tool.call.result" : "agent_persistence.output"]: json(output) }),
  };
}

function shownMessage({ role, content }: Message) {
  const parts: readonly (string | ContentPart)[] = typeof content === "string" ? [content] : content;
  return { role, parts: parts.map(shownPart) };
}

function shownPart(part: string | ContentPart) {
  if (typeof part === "string") return { type: "text", content: part };
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text };
    case "tool-call":
      return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input };
    case "tool-result":
      return { type: "tool_call_response", id: part.toolCallId, response: part.output };
    case "file":
      return { type: "file", mime_type: part.mediaType };
    default:
      return { type: "other" };
  }
}

/** Replaces values that JSON cannot express by a description instead of failing. */
function json(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? each.toString() : each)) ?? "null"
    );
  } catch {
    return JSON.stringify("[not JSON]");
  }
}
