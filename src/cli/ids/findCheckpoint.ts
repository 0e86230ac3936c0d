import type { AgentInspector } from "../../inspect.ts";
import { CommandFailure } from "../failure/CommandFailure.ts";
import { newestCheckpoints } from "./newestCheckpoints.ts";
import { shortened } from "./shortened.ts";

/**
 * The id of the checkpoint that was meant by its id, the beginning of its id, or its name.
 *
 * @throws CommandFailure when none or several are; for a damaged agent, it says that the rest cannot be read.
 */
export async function findCheckpoint(view: AgentInspector, agentId: string, given: string): Promise<string> {
  const { checkpoints } = await newestCheckpoints(view, agentId, Infinity);
  const named = checkpoints.find(({ name }) => name === given);
  if (named) return named.checkpointId;
  const ids = checkpoints.map(({ checkpointId }) => checkpointId);
  const isAny = ids.some((id) => id.startsWith(given));
  const [damage] = isAny ? [] : ((await view.agent(agentId))?.damage ?? []);
  if (damage)
    throw new CommandFailure(
      "damaged",
      `What can be read of ${JSON.stringify(agentId)} has no checkpoint ${JSON.stringify(given)}: ${damage.message}`,
    );
  return shortened("checkpoint", given, ids);
}
