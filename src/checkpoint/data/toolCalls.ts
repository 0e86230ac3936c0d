import type { CheckpointToolCall } from "./AgentCheckpointData.ts";
import type { AgentState, RecordedCall } from "../state/AgentState.ts";
import type { ValueReader } from "../state/ValueReader.ts";

/** What is known of a recorded call, whether its intent or only its outcome was written. */
export function callFacts(call: RecordedCall): {
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** Whether an inverse was registered for the tool when the call was made. */
  readonly inverse: boolean;
} {
  const { tool, effect, node, inverse } = call.intent ?? call.outcome ?? {};
  return { tool: tool ?? "", effect: effect ?? "none", node: node ?? "", inverse: inverse ?? false };
}

/** The input of a recorded call as the model or the caller wrote it: its own, or that of the answer which asked for it. */
export function callInput(call: RecordedCall, state: AgentState, reader: ValueReader): unknown {
  const own = call.intent ?? call.outcome;
  if (own && "input" in own) return reader.read(own.input);
  for (const answer of state.answers.values()) {
    const { content } = reader.message(answer.message);
    const part =
      typeof content === "string"
        ? undefined
        : content.find((item) => item.type === "tool-call" && item.toolCallId === call.call);
    if (part?.type === "tool-call") return part.input;
  }
  return undefined;
}

/** A call that has ended, as a checkpoint shows it. */
export function checkpointToolCall(
  call: RecordedCall,
  state: AgentState,
  reader: ValueReader,
): CheckpointToolCall | undefined {
  const { outcome } = call;
  if (!outcome || outcome.unstarted || outcome.retry || outcome.suspended) return undefined;
  const { tool, effect } = callFacts(call);
  const base = { toolCallId: call.call, toolName: tool, effect, input: callInput(call, state, reader) };
  if (outcome.error) return { ...base, status: "failed", error: outcome.error.message };
  if (outcome.moved) return { ...base, status: "moved" };
  if (outcome.lost) return { ...base, status: "lost" };
  if (outcome.unknown) return { ...base, status: "unknown" };
  return { ...base, status: "succeeded", output: reader.read(outcome.output) };
}
