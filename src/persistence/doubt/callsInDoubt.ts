import type { ToolEffect } from "../../agent/tool/Tool.ts";
import { loggedCalls, type LoggedCall } from "../../journal/loggedCalls.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { ToolCallInDoubt } from "./ToolCallInDoubt.ts";

/** The calls of a log, whatever their line, that began with an effect and of which nobody knows whether they had it. */
export function callsInDoubt({ index, blobs }: AgentLog): readonly LoggedCall[] {
  return loggedCalls(index, blobs).filter((call) => isInDoubt(call) && !index.reverted.has(call.call));
}

/** The calls whose inverse began and has no recorded end. */
export function inversesInDoubt({ index, blobs }: AgentLog): readonly LoggedCall[] {
  return loggedCalls(index, blobs).filter(({ call }) => index.inverting.has(call));
}

/** The calls whose inverse somebody may settle: in doubt, in the way of a rollback that is open, or settled before. */
export function inversesToSettle({ index, blobs }: AgentLog): readonly LoggedCall[] {
  const open = new Set([...(index.rollback?.calls ?? []), ...index.inverting, ...index.left.keys()]);
  return loggedCalls(index, blobs).filter(({ call }) => open.has(call) && !index.reverted.has(call));
}

function isInDoubt({ effect, outcome }: LoggedCall): boolean {
  return effect !== "none" && (!outcome || outcome.retry === true || outcome.unknown === true);
}

/** A recorded call as whoever decides about it sees it. */
export function toolCallInDoubt(agentId: string, call: LoggedCall): ToolCallInDoubt {
  const { outcome } = call;
  return {
    agentId,
    toolCallId: call.call,
    toolName: call.tool,
    nodeId: call.node,
    effect: call.effect as ToolEffect,
    input: call.input(),
    ...(outcome && { settled: outcome.retry ? ("retry" as const) : ("unknown" as const) }),
  };
}
