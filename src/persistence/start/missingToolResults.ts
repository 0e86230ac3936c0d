import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { ContentPart, Message, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

type CallPart = Extract<ContentPart, { type: "tool-call" }>;
type ResultPart = Extract<ContentPart, { type: "tool-result" }>;

const noResult = "There is no result: the run that asked for this call was ended.";

/**
 * Returns results for calls without a result at the end of a run's history. Models refuse a history with such calls, so
 * another run needs the results. Returns `undefined` if every call has a result.
 *
 * @param input of the next node: a message with results that are not yet in the history.
 */
export function missingToolResults(
  messages: readonly Message[],
  calls: AgentState["calls"],
  reader: ValueReader,
  input?: unknown,
): ToolMessage | undefined {
  const asked = messages.findLastIndex(({ role }) => role !== "tool");
  const results = messages.slice(asked + 1).flatMap((message) => partsOf(message, "tool-result"));
  const answered = new Set(results.map(({ toolCallId }) => toolCallId));
  const open = partsOf(messages[asked], "tool-call").filter((part) => !answered.has(part.toolCallId));
  if (open.length === 0) return undefined;
  const next = new Map(partsOf(messageOf(input), "tool-result").map((part) => [part.toolCallId, part]));
  return { role: "tool", content: open.map((part) => next.get(part.toolCallId) ?? resultOf(part, calls, reader)) };
}

function messageOf(input: unknown): Message | undefined {
  const { role, content } = Object(input) as Partial<Message>;
  return role === "tool" && Array.isArray(content) ? (input as Message) : undefined;
}

function partsOf<Type extends ContentPart["type"]>(
  message: Message | undefined,
  type: Type,
): readonly Extract<ContentPart, { type: Type }>[] {
  if (!message || typeof message.content === "string") return [];
  return message.content.filter((part): part is Extract<ContentPart, { type: Type }> => part.type === type);
}

function resultOf(call: CallPart, calls: AgentState["calls"], reader: ValueReader): ResultPart {
  const { toolCallId, providerToolCallId, toolName } = call;
  const part = withoutUndefined({ type: "tool-result", toolCallId, providerToolCallId, toolName } as const);
  const outcome = calls.get(toolCallId)?.outcome;
  if (outcome?.error) return { ...part, isError: true, output: outcome.error.message };
  if (outcome?.output !== undefined) return { ...part, output: reader.read(outcome.output) };
  return { ...part, isError: true, output: noResult };
}
