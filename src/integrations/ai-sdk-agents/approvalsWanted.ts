import type { ProviderMessage } from "./model/ProviderModel.ts";

export interface WantedApproval {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

export interface GivenApproval {
  readonly toolCallId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/**
 * Returns the calls that wait for an approval after these messages. Calls that the provider executes are excluded,
 * because the provider requests their approval.
 */
export function approvalsWanted(messages: readonly ProviderMessage[]): readonly WantedApproval[] {
  const parts = partsOf(messages);
  const isEnded = (id: unknown) => parts.some(({ type, toolCallId }) => type === "tool-result" && toolCallId === id);
  return parts.flatMap((part) => {
    if (part.type !== "tool-approval-request" || isEnded(part["toolCallId"])) return [];
    const call = parts.find(({ type, toolCallId }) => type === "tool-call" && toolCallId === part["toolCallId"]);
    if (!call || call["providerExecuted"] === true) return [];
    const { toolName, input } = call;
    return [
      {
        approvalId: String(part["approvalId"]),
        toolCallId: String(part["toolCallId"]),
        toolName: String(toolName),
        input,
      },
    ];
  });
}

/** Returns the approvals in the last message for calls that have no result in the messages. */
export function approvalsGiven(messages: readonly ProviderMessage[]): readonly GivenApproval[] {
  const requested = new Map(approvalsWanted(messages).map(({ approvalId, toolCallId }) => [approvalId, toolCallId]));
  const last = messages.at(-1);
  if (last?.role !== "tool") return [];
  return partsOf([last]).flatMap((part) => {
    const toolCallId = part.type === "tool-approval-response" ? requested.get(String(part["approvalId"])) : undefined;
    if (toolCallId === undefined) return [];
    const { approved, reason } = part as { readonly approved?: unknown; readonly reason?: string };
    return [{ toolCallId, approved: approved === true, reason }];
  });
}

function partsOf(messages: readonly ProviderMessage[]) {
  return messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
}
