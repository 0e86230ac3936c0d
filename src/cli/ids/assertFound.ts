import { CommandFailure } from "../failure/CommandFailure.ts";

/** @throws CommandFailure if the agent does not exist */
export function assertFound<Found>(found: Found | undefined, agentId: string): Found {
  if (found !== undefined) return found;
  throw new CommandFailure("notFound", `There is no agent ${JSON.stringify(agentId)}.`);
}
