import type { AgentInspector } from "../../inspect.ts";
import { newestCheckpoints } from "./newestCheckpoints.ts";
import { shortened } from "./shortened.ts";

/** The id of the checkpoint that was meant by its id, the beginning of its id, or its name. @throws CommandFailure */
export async function findCheckpoint(view: AgentInspector, agentId: string, given: string): Promise<string> {
  const { checkpoints } = await newestCheckpoints(view, agentId, Infinity);
  const named = checkpoints.find(({ name }) => name === given);
  if (named) return named.checkpointId;
  return shortened(
    "checkpoint",
    given,
    checkpoints.map(({ checkpointId }) => checkpointId),
  );
}
