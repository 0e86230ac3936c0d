import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentContext, AgentStorage } from "./AgentContext.ts";

/**
 * The context of `merge`, which joins the branches of a parallel node. It starts with the history and settings of the
 * fork. Its storage contains the changes of all branches. If two branches changed a key differently, `merge` must set
 * or delete the key. Otherwise the run fails.
 */
export interface MergeContext<Branches> extends AgentContext {
  /** The finished branches by name, or for `graph.each` in the order of the items. */
  readonly branches: Branches;
}

/** A finished branch of a parallel node, as `merge` sees it. */
export interface BranchOf<Output> {
  readonly output: Output;
  /** The messages that the branch added to the history. */
  readonly messages: readonly Message[];
  /** The storage at the end of the branch. */
  readonly storage: Pick<AgentStorage, "get">;
  /** Adopts the history, settings and storage of this branch, as if only this branch had run. */
  adopt(): void;
}
