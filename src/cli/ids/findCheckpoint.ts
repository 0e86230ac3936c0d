import type { AgentInspector } from "../../inspect.ts";
import { CommandFailure } from "../failure/CommandFailure.ts";
import { newestCheckpoints } from "./newestCheckpoints.ts";
import { shortened } from "./shortened.ts";

/**
 * Finds a checkpoint by its id, the start of its id, or its name.
 *
 * @throws CommandFailure if no checkpoint or more than one matches. For a damaged agent, the message says that the rest
 * is unreadable.
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
