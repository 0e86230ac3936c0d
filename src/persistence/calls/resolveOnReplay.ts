import type { ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { CheckpointToolCall } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { settledOutcome, type ToolCallSettlement } from "../doubt/ToolCallInDoubt.ts";
import { askWhatHappened } from "../doubt/askWhatHappened.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

/** How a call ended, with its output when it has one. */
export interface CallEnd {
  readonly outcome: OutcomeRecord;
  readonly output?: unknown;
}

/**
 * What a call comes to that began before a crash and whose end is not recorded; `undefined` when it is to be made again.
 *
 * @throws ToolCallInDoubtError when a person has to decide.
 */
export async function resolveOnReplay(
  recorder: RunRecorder,
  { call: toolCallId, intent, outcome }: RecordedCall,
  { tool, input, context }: ToolCallEvent,
): Promise<CallEnd | undefined> {
  if (!intent || outcome?.retry) return undefined;
  const { agentId, nodeId, signal } = context;
  const call = { agentId, toolCallId, toolName: tool.name, nodeId, effect: recorder.setup.effectOf(tool), input };
  const { settlement, by } = await askWhatHappened(call, { tool, choice: recorder.setup.onToolCallInDoubt, signal });
  if (settlement === "retry" || settlement === "not-done") return undefined;
  return recordSettlement(recorder, { ...intent, lane: recorder.lane }, input, frozenCopy(settlement), by);
}

function recordSettlement(
  recorder: RunRecorder,
  facts: IntentRecord,
  input: unknown,
  settlement: Exclude<ToolCallSettlement, "retry">,
  by: "probe" | "handler",
): CallEnd {
  const end = settledOutcome(settlement, by, facts.tool, recorder.journal.writer);
  recordEnd(recorder, facts, end, { ...shownCall(facts, input), ...shownEnd(settlement) });
  const { lane, visit, call } = facts;
  return {
    outcome: { kind: "outcome", lane, visit, call, ...end },
    ...(typeof settlement === "object" && "output" in settlement && { output: settlement.output }),
  };
}

function shownEnd(
  settlement: Exclude<ToolCallSettlement, "retry">,
): Pick<CheckpointToolCall, "status" | "output" | "error"> {
  if (settlement === "unknown") return { status: "unknown" };
  if ("error" in settlement) return { status: "failed", error: settlement.error };
  return { status: "succeeded", output: settlement.output };
}

/** Appends how a call ended. A call without effect has no intent, so that its outcome says what an intent would have. */
export function recordEnd(
  recorder: RunRecorder,
  facts: IntentRecord,
  end: Partial<OutcomeRecord>,
  call?: CheckpointToolCall,
): void {
  if (recorder.movedCalls.has(facts.call)) return;
  const { kind: _kind, ...unsaid } = facts;
  const { lane, visit, call: id } = facts;
  const outcome: OutcomeRecord =
    facts.effect === "none"
      ? { ...unsaid, kind: "outcome", ...end }
      : { kind: "outcome", lane, visit, call: id, ...end };
  recorder.journal.append([outcome]);
  if (call) recorder.endedCalls.push(call);
}

/** A call as a checkpoint shows it, but for how it ended. */
export function shownCall(
  { call, tool, effect }: IntentRecord,
  input: unknown,
): Pick<CheckpointToolCall, "toolCallId" | "toolName" | "effect" | "input"> {
  return { toolCallId: call, toolName: tool, effect, input };
}
