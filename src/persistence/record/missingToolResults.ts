import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { ContentPart, Message, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";

type CallPart = Extract<ContentPart, { type: "tool-call" }>;
type ResultPart = Extract<ContentPart, { type: "tool-result" }>;

const noResult = "There is no result: the run that asked for this call was ended.";

/**
 * What answers the calls at the end of a history that a run left open when it was ended, so that another run can continue
 * it: models refuse a history with calls that nobody answered. `undefined`: none is open.
 */
export function missingToolResults(
  messages: readonly Message[],
  calls: AgentState["calls"],
  reader: ValueReader,
): ToolMessage | undefined {
  const asked = messages.findLastIndex(({ role }) => role !== "tool");
  const answered = new Set(messages.slice(asked + 1).flatMap((message) => partsOf(message, "tool-result").map(idOf)));
  const open = partsOf(messages[asked], "tool-call").filter((part) => !answered.has(part.toolCallId));
  if (open.length === 0) return undefined;
  return { role: "tool", content: open.map((part) => ({ ...resultOf(part), ...endOf(part, calls, reader) })) };
}

function partsOf<Type extends ContentPart["type"]>(
  message: Message | undefined,
  type: Type,
): readonly Extract<ContentPart, { type: Type }>[] {
  if (!message || typeof message.content === "string") return [];
  return message.content.filter((part): part is Extract<ContentPart, { type: Type }> => part.type === type);
}

function idOf({ toolCallId }: ResultPart): string {
  return toolCallId;
}

function resultOf({ toolCallId, providerToolCallId, toolName }: CallPart): Omit<ResultPart, "output"> {
  const provider = providerToolCallId === undefined ? {} : { providerToolCallId };
  return { type: "tool-result", toolCallId, ...provider, toolName };
}

/** A call that ended before its run did has its own result. */
function endOf(
  { toolCallId }: CallPart,
  calls: AgentState["calls"],
  reader: ValueReader,
): Pick<ResultPart, "output" | "isError"> {
  const outcome = calls.get(toolCallId)?.outcome;
  if (outcome?.error) return { output: outcome.error.message, isError: true };
  if (outcome?.output !== undefined) return { output: reader.read(outcome.output) };
  return { output: noResult, isError: true };
}
