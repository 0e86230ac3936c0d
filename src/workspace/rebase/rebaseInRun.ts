import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { settleAll, versionTrackerKey } from "../drift/VersionTracker.ts";
import { rebaseIfSafe, rebaseInRunSchema, type RebaseOptions, type RebaseResult } from "./rebaseIfSafe.ts";

/**
 * {@link rebaseIfSafe} on behalf of a run that `Drift` watches: rewritten history is noticed by the upstream head that the
 * run knows, and a rebase settles what the upstream had changed as `rebased`. A run that is ended between the rebase and the
 * next checkpoint does not keep that, and finds nothing to rebase when it goes on.
 *
 * @throws GitError; see there.
 */
export async function rebaseInRun(
  context: AgentContext,
  options: Omit<RebaseOptions, "knownUpstreamHead" | "signal">,
): Promise<RebaseResult> {
  checkSchema(rebaseInRunSchema, options, "options of the rebase");
  const known = context.storage.get(versionTrackerKey);
  const result = await rebaseIfSafe({
    ...options,
    ...(known && known.upstream_head !== "" && { knownUpstreamHead: known.upstream_head }),
    signal: context.signal,
  });
  if (known && result.rebased)
    context.storage.set(versionTrackerKey, { ...settleAll(known, "rebased"), current_head: result.head });
  return result;
}
