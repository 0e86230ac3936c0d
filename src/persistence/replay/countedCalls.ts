import { type AssistantMessage, partsOfType } from "../../checkpoint/messages/Message.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { AgentState, RecordedCall } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";

export interface CallEnd {
  readonly outcome: OutcomeRecord;
  readonly output?: unknown;
}

export function callIdsIn(message: AssistantMessage): readonly string[] {
  return partsOfType(message, "tool-call").map(({ toolCallId }) => toolCallId);
}

/** Returns the calls of the run. If a later run executes a message of this run, its calls get other ids. */
export function countedCalls(index: LogProjection, { calls, runId }: AgentState): Map<string, RecordedCall> {
  const begun = [...index.lanes.values()].find((start) => start.runId === runId && start.record.keep === "history");
  const isOwn = ({ intent, outcome }: RecordedCall) => !begun || ((intent ?? outcome)?.lane ?? 0) >= begun.record.lane;
  return new Map([...calls].filter(([, call]) => isOwn(call) && index.counts(call)));
}
