import type { HostedApproval, HostedLoop } from "../hosted/HostedLoop.ts";
import { type HostedTool, hostedTool } from "../hosted/HostedTool.ts";
import type { ProviderMessage } from "../ai-sdk/AiSdkLanguageModel.ts";
import { RequestNotOpenError } from "../../errors/requestErrors.ts";
import { assertDecided } from "../hosted/RunRecords.ts";
import type { HostedAgents } from "../hosted/HostedAgents.ts";

export interface CallInput {
  readonly prompt?: string | readonly ProviderMessage[];
  readonly messages?: readonly ProviderMessage[];
  /** The call options of the agent. Omitted if the agent takes no options. */
  readonly options?: unknown;
}

/** One pass of the AI SDK loop. A pass ends with a final response, or when calls need approvals. */
interface Leg<Result> {
  readonly result: Result;
  /** Resolves at the end of the pass with the messages that it added. */
  readonly messages: Promise<readonly ProviderMessage[]>;
}

/**
 * Runs the AI SDK loop. If the loop stops for approvals, waits until all are answered and starts the loop again.
 *
 * @param start - starts a pass. `decided` contains the calls decided before the pass.
 * @returns the result of the last pass
 */
export async function runLegs<Result>(
  loop: HostedLoop,
  { tools, input }: { readonly tools: readonly HostedTool[]; readonly input: CallInput },
  start: (input: CallInput, decided: readonly string[]) => Promise<Leg<Result>>,
): Promise<Result> {
  let decided: readonly string[] = [];
  let next = input;
  for (;;) {
    const { result, messages: added } = await start(next, decided);
    const messages = await added;
    const wanted = approvalsWanted(messages);
    if (wanted.length === 0 || loop.failure) return result;
    const toolOf = (name: string) => tools.find(({ tool }) => tool.name === name) ?? hostedTool(name);
    const given = await loop.approvals(wanted.map((each) => ({ ...each, tool: toolOf(each.toolName) })));
    decided = wanted.map(({ toolCallId }) => toolCallId);
    const { prompt: _prompt, ...rest } = next;
    next = { ...rest, messages: [...promptMessages(next), ...messages, responseTo(wanted, given)] };
  }
}

function promptMessages({ prompt, messages = [] }: CallInput): readonly ProviderMessage[] {
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

interface WantedApproval {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** Returns the calls that wait for an approval, except for calls that the provider executes. */
function approvalsWanted(messages: readonly ProviderMessage[]): readonly WantedApproval[] {
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

/** Returns the approvals in the last message, for calls that have no result yet. */
function approvalsGiven(
  messages: readonly ProviderMessage[],
): readonly { readonly toolCallId: string; readonly approved: boolean; readonly reason?: string | undefined }[] {
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

interface GivenAnswers {
  /** The library's ids of the calls. */
  readonly ids: readonly string[];
  /** The answers by request id. `undefined` if all approvals were already recorded. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Returns the approvals in the messages of a client, and the answers to requests that are still open. A client may send
 * recorded approvals again. `undefined` without approvals.
 *
 * @throws RequestNotOpenError if an approval has no request, or differs from the recorded decision
 */
export async function givenAnswers(
  hosted: HostedAgents,
  agentId: string,
  input: CallInput,
): Promise<GivenAnswers | undefined> {
  const given = approvalsGiven(promptMessages(input));
  if (given.length === 0) return undefined;
  const requests = await hosted.agent(agentId).getRequests();
  const records = await hosted.records(agentId);
  const openIds = requests.map(({ requestId }) => requestId);
  const answers: Record<string, unknown> = {};
  for (const { toolCallId, approved, reason } of given) {
    const open = requests.find((each) => each.kind === "approval" && each.toolCallId === toolCallId);
    const request = records.exists ? records.request(toolCallId)?.record : undefined;
    if (open) answers[open.requestId] = approved || reason === undefined ? { approved } : { approved, reason };
    else if (request) assertDecided(request, approved, records, openIds);
    else throw new RequestNotOpenError("request_not_found", agentId, toolCallId, undefined, openIds);
  }
  const isOpen = Object.keys(answers).length > 0;
  return { ids: given.map(({ toolCallId }) => toolCallId), answers: isOpen ? answers : undefined };
}
