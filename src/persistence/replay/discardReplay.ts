import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { endsOf, visitIn, withinOf } from "../../agent/feature/ContextBinding.ts";
import type { CallOrigin, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import { callFacts } from "../../checkpoint/data/RequestedCalls.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { ReplayDivergedError } from "../../errors/runErrors.ts";
import type { Replay } from "./Replay.ts";

interface Replaying {
  readonly recording: Replay | undefined;
}

/**
 * Handles a repeated node whose request differs from the record. If the first attempt had no effect, the remaining
 * records of the visit are discarded, and the node continues without them.
 *
 * @throws ReplayDivergedError if the first attempt had an effect.
 */
export function discardReplay(
  { recording }: Replaying,
  context: AgentContext,
  visit: Visit,
  difference: { readonly recorded: string; readonly found: string },
): void {
  const effects = recording?.effectsOf(visit) ?? [];
  if (effects.length > 0)
    throw new ReplayDivergedError(
      context.agentId,
      context.nodeId,
      difference.recorded,
      difference.found,
      effects.map(shown),
    );
  recording?.drop(visit);
  endsOf(context).forgetUnreached();
}

/** Checks that a finished node has repeated all recorded calls with an effect. @throws ReplayDivergedError */
export function assertReplayComplete(
  { recording, journal: { agentId } }: Replaying & { readonly journal: { readonly agentId: string } },
  nodeId: string,
  visit: Visit,
): void {
  const effects = recording?.effectsOf(visit) ?? [];
  // A nested call is repeated only by the call that contains it.
  const isOwn = (call: RecordedCall) => (call.intent ?? call.outcome)?.within === undefined;
  const missing = effects.find((call) => isOwn(call) && !recording?.wasAskedFor(call.call));
  if (!missing) return;
  const recorded = `a call of "${callFacts(missing).tool}" (${missing.call})`;
  throw new ReplayDivergedError(agentId, nodeId, recorded, "nothing more", effects.map(shown));
}

function shown(call: RecordedCall): ReplayDivergedError["effects"][number] {
  const { outcome } = call;
  const inDoubt = !outcome || outcome.retry === true || outcome.unknown === true;
  return { toolCallId: call.call, toolName: callFacts(call).tool, inDoubt };
}

/**
 * Returns the record of a call. Returns `undefined` if the call has no record, or if the record differs. In the second
 * case, the replay of the visit is discarded.
 *
 * @throws ReplayDivergedError if the record differs and the first attempt had an effect.
 */
export function recordedCall(recorder: Replaying, event: ToolCallEvent): RecordedCall | undefined {
  const { recording } = recorder;
  const { origin, tool, context, input, visit: at } = event;
  const visit = visitIn(at);
  const recorded =
    origin.kind === "model"
      ? recording?.call(event.toolCallId)
      : recording?.callAt(visit, origin.ordinal, withinOf(context));
  const made = { tool: tool.name, input, asked: origin.kind === "model" ? inputAskedFor(origin) : input };
  if (!recorded || recording?.isSame(recorded, made)) return recorded;
  const before = callFacts(recorded).tool;
  const found = before === tool.name ? `a call of "${tool.name}" with another input` : `a call of "${tool.name}"`;
  discardReplay(recorder, context, visit, { recorded: `a call of "${before}" (${recorded.call})`, found });
  return undefined;
}

/** Returns the input in the response. For the call itself, another runtime can transform this input with its schema. */
function inputAskedFor({ message, index }: Extract<CallOrigin, { readonly kind: "model" }>): unknown {
  const part = message.content[index];
  return typeof part === "object" && part.type === "tool-call" ? part.input : undefined;
}
