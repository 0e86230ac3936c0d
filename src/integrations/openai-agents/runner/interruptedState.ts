import { RunContext, RunState, RunToolApprovalItem } from "@openai/agents-core";
import type { PendingRequest } from "../../../agent/feature/RunResult.ts";
import type { SdkOptions } from "./runLoop.ts";
import type { AnyAgent, AnyState } from "../wrapped/AnyAgent.ts";

/**
 * Builds the state of a waiting run with only its interruptions. Used if the loop reported no state, for example
 * because the run waits inside a tool call.
 *
 * @param approvals the approvals that this process has seen, by the ids of their calls
 */
export function interruptedState(
  agent: AnyAgent,
  { context }: SdkOptions,
  requests: readonly PendingRequest[],
  approvals?: ReadonlyMap<string, RunToolApprovalItem>,
): AnyState {
  const runContext = context instanceof RunContext ? context : new RunContext(context);
  const state = new RunState<unknown, AnyAgent>(runContext, [], agent, null);
  const interruptions = requests.flatMap((request) => {
    const known = request.kind === "approval" ? approvals?.get(request.toolCallId) : undefined;
    return known ?? interruptionOf(agent, request);
  });
  state._currentStep = { type: "next_step_interruption", data: { interruptions } };
  return state;
}

function interruptionOf(agent: AnyAgent, request: PendingRequest): RunToolApprovalItem[] {
  if (request.kind !== "approval") return [];
  const { toolCallId: callId, toolName: name, input } = request;
  const rawItem = {
    type: "function_call",
    callId,
    name,
    arguments: JSON.stringify(input),
    status: "in_progress",
  } as const;
  return [new RunToolApprovalItem(rawItem, agent)];
}
