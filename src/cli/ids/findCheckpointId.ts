import { type AgentInspector, type CheckpointsPage, type CheckpointView, inspect } from "../../inspect.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { shortened } from "./findLog.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";

const pageSize = 500;

/** Finds a checkpoint by its id, the start of its id, or its name. @throws CommandFailure unless exactly one matches */
export async function findCheckpointId(view: AgentInspector, agentId: string, given: string): Promise<string> {
  const { checkpoints } = await newestCheckpoints(view, agentId, Infinity);
  const named = checkpoints.find(({ name }) => name === given);
  if (named) return named.checkpointId;
  const ids = checkpoints.map(({ checkpointId }) => checkpointId);
  const isAny = ids.some((id) => id.startsWith(given));
  const [damage] = isAny ? [] : ((await view.agent(agentId))?.damage ?? []);
  if (damage)
    throw new CommandFailure(
      "damaged",
      `The readable part of ${JSON.stringify(agentId)} has no checkpoint ${JSON.stringify(given)}: ${damage.message}`,
    );
  return shortened(
    "checkpoint",
    given,
    ids,
    ` in agent ${JSON.stringify(agentId)}. The command tree lists its checkpoints`,
  );
}

/** Returns the checkpoint id that an option names, or `undefined` without the option. @throws CommandFailure */
export async function checkpointGiven(
  storage: PersistenceStorageProvider,
  agentId: string,
  given: string | undefined,
): Promise<string | undefined> {
  return given === undefined ? undefined : findCheckpointId(inspect(storage), agentId, given);
}

export type NewestCheckpoints = Pick<CheckpointsPage, "checkpoints" | "total">;

/** Returns up to `most` newest checkpoints of an agent, oldest first, and their total number. */
export async function newestCheckpoints(
  view: AgentInspector,
  agentId: string,
  most: number,
): Promise<NewestCheckpoints> {
  const pages: (readonly CheckpointView[])[] = [];
  let [left, before]: [number, number | undefined] = [most, undefined];
  for (;;) {
    const limit = Math.min(left, pageSize);
    const page = await view.checkpoints(agentId, { limit, ...(before !== undefined && { before }) });
    pages.unshift(page.checkpoints);
    left -= page.checkpoints.length;
    ({ before } = page);
    if (left <= 0 || before === undefined) return { checkpoints: pages.flat(), total: page.total };
  }
}
