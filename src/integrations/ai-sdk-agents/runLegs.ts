import type { HostedApproval, HostedLoop } from "../hosted/HostedLoop.ts";
import { type HostedTool, hostedTool } from "../hosted/HostedTool.ts";
import { approvalsWanted, type WantedApproval } from "./approvalsWanted.ts";
import type { ProviderMessage } from "./model/ProviderModel.ts";

/** What a run was asked for. */
export interface CallInput {
  readonly prompt?: string | readonly ProviderMessage[];
  readonly messages?: readonly ProviderMessage[];
  /** The options that the agent takes besides. Absent: none. */
  readonly options?: unknown;
}

/** One pass of the loop of the AI SDK: until it has its answer, or wants approvals. */
export interface Leg<Result> {
  readonly result: Result;
  /** Settles with the messages that the pass has added, when it has ended. */
  readonly messages: Promise<readonly ProviderMessage[]>;
}

/**
 * Runs the loop of the AI SDK as often as it wants approvals. Each time, the run waits until all of them have an answer; then
 * the loop goes on after them.
 *
 * @param start begins a pass. `index` counts them from 0; `approved`: the calls that were decided before it.
 * @returns the result of the last pass.
 */
export async function runLegs<Result>(
  loop: HostedLoop,
  { tools, input }: { readonly tools: readonly HostedTool[]; readonly input: CallInput },
  start: (
    input: CallInput,
    leg: { readonly index: number; readonly decided: readonly string[] },
  ) => Promise<Leg<Result>>,
): Promise<Result> {
  let decided: readonly string[] = [];
  let next = input;
  for (let index = 0; ; index++) {
    const { result, messages: added } = await start(next, { index, decided });
    const messages = await added;
    const wanted = approvalsWanted(messages);
    if (wanted.length === 0 || loop.failure) return result;
    const toolOf = (name: string) => tools.find(({ tool }) => tool.name === name) ?? hostedTool(name);
    const given = await loop.approvals(wanted.map((each) => ({ ...each, tool: toolOf(each.toolName) })));
    decided = wanted.map(({ toolCallId }) => toolCallId);
    const { prompt: _prompt, ...rest } = next;
    next = { ...rest, messages: [...messagesOf(next), ...messages, responseTo(wanted, given)] };
  }
}

/** What a run was asked for, as messages. */
export function messagesOf({ prompt, messages = [] }: CallInput): readonly ProviderMessage[] {
  if (typeof prompt === "string") return [{ role: "user", content: prompt }];
  return prompt ?? messages;
}

function responseTo(wanted: readonly WantedApproval[], given: readonly HostedApproval[]): ProviderMessage {
  const content = wanted.map(({ approvalId }, index) => ({
    type: "tool-approval-response",
    approvalId,
    ...(given[index] ?? { approved: false }),
  }));
  return { role: "tool", content };
}
