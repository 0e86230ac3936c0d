import { inspect } from "../../inspect.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { findCheckpoint } from "./findCheckpoint.ts";

/** The id of the checkpoint that an option names; `undefined` where it names none. @throws CommandFailure */
export async function checkpointGiven(
  storage: PersistenceStorageProvider,
  agentId: string,
  given: string | undefined,
): Promise<string | undefined> {
  return given === undefined ? undefined : findCheckpoint(inspect(storage), agentId, given);
}
