import { inspect } from "../../inspect.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { findCheckpoint } from "./findCheckpoint.ts";

/**
 * Returns the checkpoint id that an option names, or `undefined` without the option.
 *
 * @throws CommandFailure
 */
export async function checkpointGiven(
  storage: PersistenceStorageProvider,
  agentId: string,
  given: string | undefined,
): Promise<string | undefined> {
  return given === undefined ? undefined : findCheckpoint(inspect(storage), agentId, given);
}
