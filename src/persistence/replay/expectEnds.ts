import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { endsOf, visitOf } from "../../agent/feature/ContextBinding.ts";
import type { EndOrder } from "../../agent/feature/EndOrder.ts";
import type { Replay } from "./Replay.ts";

/** Prepares the order in which results of a visit are delivered. Recorded results are first. */
export function expectEnds(
  recorder: { readonly recording: Replay | undefined; ends: EndOrder | undefined },
  context: AgentContext,
): void {
  const { base, ordinal } = visitOf(context);
  recorder.ends = endsOf(context);
  for (const key of recorder.recording?.endsOf([base, ordinal]) ?? []) recorder.ends.add(key);
}
