import type { CheckpointToolCall } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

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
