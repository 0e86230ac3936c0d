import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";

type ToolResult = Extract<ContentPart, { type: "tool-result" }>;

/** The key under which a tool result says that its output is a summary. */
export const trimmedKey = "agent-persistence";

/** What of a history is summarized. */
export interface TrimmingPlan {
  /** Tool results whose output is to be replaced, oldest first. */
  readonly outputs: readonly ToolResult[];
  /** Messages that become one, oldest first; empty: none do. */
  readonly older: readonly Message[];
}

/**
 * Decides what is trimmed, so that trimming what was trimmed changes nothing. Messages go in whole turns: a call and its
 * result stay together, and a call without a result stays with everything after it.
 */
export function planTrimming(
  messages: readonly Message[],
  limits: { readonly toolOutputs: number; readonly messages: number },
): TrimmingPlan {
  const older = messages.slice(0, cutOf(messages, limits.messages)).filter(({ role }) => role !== "system");
  // One message alone is a summary already, or not worth one.
  const going = new Set<Message>(older.length > 1 ? older : []);
  const results = messages.flatMap((message) => resultsOf(message).map((result) => ({ message, result })));
  const outputs = results
    .slice(0, Math.max(0, results.length - limits.toolOutputs))
    .filter(({ message, result }) => !going.has(message) && !isTrimmed(result))
    .map(({ result }) => result);
  return { outputs, older: [...going] };
}

/** Whether the output of a tool result is a summary already. */
export function isTrimmed({ providerOptions }: ToolResult): boolean {
  return providerOptions !== undefined && trimmedKey in providerOptions;
}

export function resultsOf({ role, content }: Message): readonly ToolResult[] {
  return role === "tool" ? content.filter((part) => part.type === "tool-result") : [];
}

/** The last place, with at least so many messages after it, before which every call has its result. */
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

/** The place with so many messages after it that are not of the system. */
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
