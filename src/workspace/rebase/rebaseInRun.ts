import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { knownHeadOf, settleAll, versionTrackerKey } from "../drift/VersionTracker.ts";
import { rebaseIfSafe, rebaseInRunSchema, type RebaseOptions, type RebaseResult } from "./rebaseIfSafe.ts";

/**
 * {@link rebaseIfSafe} in a run that `Drift` watches. It detects rewritten history by the upstream head that the run knows,
 * and marks the upstream changes as `rebased`. If the run stops between the rebase and the next checkpoint, that mark is
 * lost, and the resumed run finds nothing to rebase.
 *
 * @throws InvalidInputError, GitError
 */
export async function rebaseInRun(
  context: AgentContext,
  options: Omit<RebaseOptions, "knownUpstreamHead" | "signal">,
): Promise<RebaseResult> {
  checkSchema(rebaseInRunSchema, options, "options of the rebase");
  const known = context.storage.get(versionTrackerKey);
  const result = await rebaseIfSafe({
    ...options,
    knownUpstreamHead: knownHeadOf(known),
    signal: context.signal,
  });
  if (known && result.rebased)
    context.storage.set(versionTrackerKey, { ...settleAll(known, "rebased"), current_head: result.head });
  return result;
}
