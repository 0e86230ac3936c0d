import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";

type ToolResult = Extract<ContentPart, { type: "tool-result" }>;

/** The key that marks the output of a tool result as a summary. */
export const trimmedKey = "agent-persistence";

export interface TrimmingPlan {
  readonly outputs: readonly ToolResult[];
  readonly older: readonly Message[];
}

/**
 * Selects the parts to trim. A trimmed history is not trimmed again. Messages are removed in whole turns. A call and
 * its result stay together, and a call without a result stays with all later messages.
 */
export function planTrimming(
  messages: readonly Message[],
  limits: { readonly toolOutputs: number; readonly messages: number },
): TrimmingPlan {
  const older = messages.slice(0, cutOf(messages, limits.messages)).filter(({ role }) => role !== "system");
  // A single older message is already a summary, or is too short for one.
  const going = new Set<Message>(older.length > 1 ? older : []);
  const results = messages.flatMap((message) => resultsOf(message).map((result) => ({ message, result })));
  const outputs = results
    .slice(0, Math.max(0, results.length - limits.toolOutputs))
    .filter(({ message, result }) => !going.has(message) && !isTrimmed(result))
    .map(({ result }) => result);
  return { outputs, older: [...going] };
}

export function isTrimmed({ providerOptions }: ToolResult): boolean {
  return providerOptions !== undefined && trimmedKey in providerOptions;
}

export function resultsOf({ role, content }: Message): readonly ToolResult[] {
  return role === "tool" ? content.filter((part) => part.type === "tool-result") : [];
}

/**
 * Returns the last index at which the history can be cut. At least `keep` messages follow it, and no result
 * after it belongs to a call before it.
 */
function cutOf(messages: readonly Message[], keep: number): number {
  const answeredAt = new Map<string, number>();
  for (const [at, message] of messages.entries())
    for (const { toolCallId } of resultsOf(message)) answeredAt.set(toolCallId, at);
  const limit = placeBefore(messages, keep);
  let cut = 0;
  let needed = 0;
  for (let at = 0; at < limit; at++) {
    for (const call of callsOf(messages[at])) needed = Math.max(needed, answeredAt.get(call) ?? messages.length);
    if (needed <= at) cut = at + 1;
  }
  return cut;
}

function placeBefore(messages: readonly Message[], keep: number): number {
  let left = keep;
  for (let at = messages.length; at > 0; at--) {
    if (left === 0) return at;
    if (messages[at - 1]?.role !== "system") left--;
  }
  return 0;
}

function callsOf(message: Message | undefined): readonly string[] {
  if (message === undefined || typeof message.content === "string") return [];
  return message.content.flatMap((part) => (part.type === "tool-call" ? part.toolCallId : []));
}
