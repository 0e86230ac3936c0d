import type { CheckpointToolCall } from "./AgentCheckpointData.ts";
import type { RecordedCall } from "../state/AgentState.ts";
import type { ValueReader } from "../state/ValueReader.ts";
import type { RequestedCalls } from "./RequestedCalls.ts";

export function callFacts(call: RecordedCall): {
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** Whether an inverse was registered at the time of the call. */
  readonly inverse: boolean;
} {
  const { tool, effect, node, inverse } = call.intent ?? call.outcome ?? {};
  return { tool: tool ?? "", effect: effect ?? "none", node: node ?? "", inverse: inverse ?? false };
}

export function checkpointToolCall(
  call: RecordedCall,
  requested: RequestedCalls,
  reader: ValueReader,
): CheckpointToolCall | undefined {
  const { outcome } = call;
  if (!outcome || outcome.unstarted || outcome.retry || outcome.suspended) return undefined;
  const { tool, effect } = callFacts(call);
  const base = { toolCallId: call.call, toolName: tool, effect, input: requested.inputOf(call) };
  if (outcome.error) return { ...base, status: "failed", error: outcome.error.message };
  if (outcome.moved) return { ...base, status: "moved" };
  if (outcome.lost) return { ...base, status: "lost" };
  if (outcome.unknown) return { ...base, status: "unknown" };
  return { ...base, status: "succeeded", output: reader.read(outcome.output) };
}
