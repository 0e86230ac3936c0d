import type { ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { CheckpointToolCall } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { IntentRecord, OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { settledOutcome, type ToolCallSettlement } from "../../doubt/ToolCallInDoubt.ts";
import { askWhatHappened } from "../../doubt/askWhatHappened.ts";
import type { CallEnd } from "../replay/EarlierCalls.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

/**
 * Returns the outcome of a call that started before a crash and has no recorded outcome. Returns `undefined` if the
 * call is to be repeated.
 *
 * @throws ToolCallInDoubtError if a person must decide.
 */
export async function resolveOnReplay(
  recorder: RunRecorder,
  { call: toolCallId, intent, outcome }: RecordedCall,
  { tool, input, context }: ToolCallEvent,
): Promise<CallEnd | undefined> {
  if (!intent || outcome?.retry) return undefined;
  const { setup, journal, lane } = recorder;
  const { agentId, nodeId, signal } = context;
  const asked = { agentId, toolCallId, toolName: tool.name, nodeId, effect: setup.effectOf(tool), input };
  const answer = await askWhatHappened(asked, { tool, choice: setup.onToolCallInDoubt, signal });
  if (answer.settlement === "retry" || answer.settlement === "not-done") return undefined;
  const settlement = frozenCopy(answer.settlement);
  const end = settledOutcome(settlement, answer.by, intent.tool, journal.writer);
  const shown = shownEnd(settlement);
  recordEnd(recorder, { ...intent, lane }, end, { input, ...shown });
  const { visit, call } = intent;
  return {
    outcome: { kind: "outcome", lane, visit, call, ...end },
    ...("output" in shown && { output: shown.output }),
  };
}

function shownEnd(
  settlement: Exclude<ToolCallSettlement, "retry">,
): Pick<CheckpointToolCall, "status" | "output" | "error"> {
  if (settlement === "unknown") return { status: "unknown" };
  if ("error" in settlement) return { status: "failed", error: settlement.error };
  return { status: "succeeded", output: settlement.output };
}

/** Appends the outcome of a call. Without an effect there is no intent, so the outcome contains its fields. */
export function recordEnd(
  recorder: RunRecorder,
  facts: IntentRecord,
  end: Partial<OutcomeRecord>,
  shown?: Pick<CheckpointToolCall, "input" | "status" | "output" | "error">,
): void {
  if (recorder.calls.hasMoved(facts.call)) return;
  const { kind: _kind, ...fields } = facts;
  const { lane, visit, call, tool, effect } = facts;
  recorder.journal.append([
    effect === "none" ? { ...fields, kind: "outcome", ...end } : { kind: "outcome", lane, visit, call, ...end },
  ]);
  recorder.ends?.add(call);
  if (shown) recorder.endedCalls.push({ toolCallId: call, toolName: tool, effect, ...shown });
}
