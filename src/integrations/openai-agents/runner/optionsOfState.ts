import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import type { AnyState } from "../wrapped/AnyAgent.ts";
import type { SdkOptions } from "./runLoop.ts";

/** Returns the options that a state passes to its resumed run, as in the SDK. The usage is counted from the records. */
export function optionsOfState(state: AnyState): Partial<SdkOptions> {
  return withoutUndefined({
    context: state._context.context as unknown,
    maxTurns: state._maxTurns,
    conversationId: state._conversationId,
    previousResponseId: state._previousResponseId,
    reasoningItemIdPolicy: state._reasoningItemIdPolicy,
  });
}
