import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { callOf } from "../../agent/feature/ContextBinding.ts";
import type { NodeVisit } from "../../agent/feature/PipelineEvents.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";

/** Returns the visit of an event. */
export function visitIn({ base, ordinal }: NodeVisit): Visit {
  return [base, ordinal];
}

/** Returns the call around a request. `undefined` if the node makes the request. */
export function withinOf(context: AgentContext): string | undefined {
  return callOf(context)?.toolCallId;
}
