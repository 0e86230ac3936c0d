import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { EndOrder } from "../../agent/feature/EndOrder.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { ReplayDivergedError } from "../../errors/runErrors.ts";
import type { Replay } from "./Replay.ts";

export interface Replaying {
  readonly recording: Replay | undefined;
  readonly ends: EndOrder | undefined;
}

/**
 * Handles a repeated node whose request differs from the record. If the first attempt had no effect, the visit discards
 * its remaining records and continues without them.
 *
 * @throws ReplayDivergedError if the first attempt had an effect.
 */
export function discardReplay(
  { recording, ends }: Replaying,
  { agentId, nodeId }: Pick<AgentContext, "agentId" | "nodeId">,
  visit: Visit,
  difference: { readonly recorded: string; readonly found: string },
): void {
  const effects = recording?.effectsOf(visit) ?? [];
  if (effects.length > 0)
    throw new ReplayDivergedError(agentId, nodeId, difference.recorded, difference.found, effects.map(shown));
  recording?.drop(visit);
  ends?.forgetUnreached();
}

/**
 * Checks a finished node. Recorded calls that the node did not repeat must have had no effect.
 *
 * @throws ReplayDivergedError
 */
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
