import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentContext, AgentStorage } from "./AgentContext.ts";

/**
 * The context of `merge`, which joins the branches of a parallel node. Its history and settings are those that the branches
 * began with. Its storage has what the branches changed, too. If two branches changed a key differently, `merge` sets or
 * deletes the key, or the run fails.
 */
export interface MergeContext<Branches> extends AgentContext {
  /** What each branch did: by its name, or for `graph.each` in the order of the items. */
  readonly branches: Branches;
}

/** A branch of a parallel node that has ended, as `merge` sees it. */
export interface BranchOf<Output> {
  readonly output: Output;
  /** What the branch added to the history. */
  readonly messages: readonly Message[];
  /** The storage at the end of the branch. */
  readonly storage: Pick<AgentStorage, "get">;
  /** Goes on as if this branch alone had run: takes over its history, settings and storage. */
  adopt(): void;
}
