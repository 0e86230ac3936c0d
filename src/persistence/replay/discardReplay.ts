import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { ReplayDivergedError } from "../../errors/run/ReplayDivergedError.ts";
import type { Replay } from "./Replay.ts";

/** A run that may have a record to give back. */
export interface Replaying {
  readonly recording: Replay | undefined;
}

/**
 * Handles a node that runs again and asks for something other than what was recorded. If its first try had no effect, the
 * visit starts over, and the rest of its record is not replayed.
 *
 * @throws ReplayDivergedError when effects are at stake.
 */
export function discardReplay(
  { recording }: Replaying,
  { agentId, nodeId }: Pick<AgentContext, "agentId" | "nodeId">,
  visit: Visit,
  difference: { readonly recorded: string; readonly found: string },
): void {
  const effects = recording?.effectsOf(visit) ?? [];
  if (effects.length > 0)
    throw new ReplayDivergedError(agentId, nodeId, difference.recorded, difference.found, effects.map(shown));
  recording?.drop(visit);
}

/**
 * A node has ended. What it did in its first try, and does not ask for any more, must have had no effect.
 *
 * @throws ReplayDivergedError
 */
export function assertReplayComplete(
  { recording, journal: { agentId } }: Replaying & { readonly journal: { readonly agentId: string } },
  nodeId: string,
  visit: Visit,
): void {
  const effects = recording?.effectsOf(visit) ?? [];
  // What a call did within itself is asked for by that call alone.
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
