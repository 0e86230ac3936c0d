import { endsOf, runOf } from "../../agent/feature/ContextBinding.ts";
import { subAgentOf } from "../../agent/feature/AgentDefinition.ts";
import type { ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RecordedToolCall } from "../recording/Recording.ts";
import type { ExactReplay } from "./ExactReplay.ts";
import { shownCall } from "../results/Divergence.ts";
import { recordedOutcome, visitIn, withinOf } from "../results/recordedOutcome.ts";
import type { ReplayDefinitions } from "./replayDefinition.ts";
import { sameValue } from "../results/sameValue.ts";

type Next = (event: ToolCallEvent) => Promise<unknown>;

/** Returns the recorded outcome of a call. Executes no tool. The strategy of a sub-agent runs again. */
export async function replayToolCall(
  replay: ExactReplay,
  definitions: ReplayDefinitions,
  event: ToolCallEvent,
  next: Next,
): Promise<unknown> {
  const { context, tool, input, origin } = event;
  const actual = shownCall({ toolName: tool.name, input });
  const recorded = callInRecording(replay, event);
  if (!recorded) return replay.unrecorded(context, { what: "call", actual });
  if (recorded.toolName !== tool.name || !sameValue(recorded.input, input))
    replay.diverge(runOf(context), context.nodeId, { what: "call", expected: shownCall(recorded), actual });
  const { outcome, toolCallId } = recorded;
  const line = replay.of(runOf(context));
  const agent = outcome?.error || !line.agent(toolCallId) ? undefined : definitions.subAgent(tool);
  if (agent) await replayAgent(replay, { ...event, tool: agent, toolCallId }, recorded, next);
  if (!outcome) return replay.leave(context);
  const group = origin.kind === "model" ? origin.message : undefined;
  return endsOf(context).deliver(toolCallId, () => recordedOutcome(tool, toolCallId, outcome), group);
}

async function replayAgent(
  replay: ExactReplay,
  event: ToolCallEvent,
  { outcome }: RecordedToolCall,
  next: Next,
): Promise<void> {
  const { context } = event;
  const output = await next(event);
  if (outcome && !sameValue(output, outcome.output))
    replay.diverge(runOf(context), context.nodeId, { what: "output", expected: outcome.output, actual: output });
}

export function callInRecording(
  replay: ExactReplay,
  { origin, context, visit, toolCallId }: Pick<ToolCallEvent, "origin" | "context" | "visit" | "toolCallId">,
): RecordedToolCall | undefined {
  const { records } = replay.of(runOf(context));
  if (origin.kind === "model") return records.call(toolCallId);
  return records.callAt(visitIn(visit), origin.ordinal, withinOf(context)) ?? records.call(toolCallId);
}

export function isAgent(tool: ToolCallEvent["tool"]): boolean {
  return subAgentOf(tool) !== undefined;
}
