import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { AgentPersistenceError, quoted } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { PersistenceStorageProvider } from "../PersistenceStorageProvider.ts";

/** Returns the checkpoints of a provider. @throws UnreadableValueError if the provider does not return an array. */
export async function checkpointsOf(
  provider: PersistenceStorageProvider,
  agentId: string,
): Promise<readonly AgentCheckpointData[]> {
  const stored: unknown = await askProvider("getCheckpoints", agentId, () => provider.getCheckpoints(agentId));
  if (Array.isArray(stored)) return stored as readonly AgentCheckpointData[];
  throw new UnreadableValueError(
    `getCheckpoints() of the storage must return an array of checkpoints, but returned ${kindOf(stored)}`,
  );
}

/** Calls a method of a provider. Wraps foreign errors in a typed error that names the call. */
export async function askProvider<Result>(
  operation: string,
  agentId: string,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (AgentPersistenceError.isInstance(error)) throw error;
    throw new StorageError("unavailable", operation, `agent ${quoted(agentId)}`, {
      cause: error,
      advice: `Fix the cause, and resume the agent: ${reasonOf(error)}`,
    });
  }
}
