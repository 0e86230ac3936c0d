import { callOf } from "../../agent/feature/ContextBinding.ts";
import type { CallOrigin, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import { discardReplay, type Replaying } from "./discardReplay.ts";

/**
 * Returns the record of a call. Returns `undefined` if the call has no record, or if the record differs. In the second
 * case, the replay of the visit is discarded.
 *
 * @throws ReplayDivergedError if the record differs and the first attempt had an effect.
 */
export function recordedCall(recorder: Replaying, event: ToolCallEvent): RecordedCall | undefined {
  const { recording } = recorder;
  const { origin, tool, context, input, visit: at } = event;
  const visit = [at.base, at.ordinal] as const;
  const recorded =
    origin.kind === "model"
      ? recording?.call(event.toolCallId)
      : recording?.callAt(visit, origin.ordinal, callOf(context)?.toolCallId);
  const made = { tool: tool.name, input, asked: origin.kind === "model" ? inputAskedFor(origin) : input };
  if (!recorded || recording?.isSame(recorded, made)) return recorded;
  const before = callFacts(recorded).tool;
  const found = before === tool.name ? `a call of "${tool.name}" with another input` : `a call of "${tool.name}"`;
  discardReplay(recorder, context, visit, { recorded: `a call of "${before}" (${recorded.call})`, found });
  return undefined;
}

/**
 * Returns the input in the model response. Another runtime can make the call with an input that its schema transformed.
 */
function inputAskedFor({ message, index }: Extract<CallOrigin, { readonly kind: "model" }>): unknown {
  const part = message.content[index];
  return typeof part === "object" && part.type === "tool-call" ? part.input : undefined;
}
