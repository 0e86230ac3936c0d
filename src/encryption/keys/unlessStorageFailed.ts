import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";

/** Accepts an error about the data of one agent. @throws any other error, for example of the storage */
export function unlessStorageFailed(error: unknown): undefined {
  const isOfAgent = AgentPersistenceError.isInstance(error) && !error.code.startsWith("storage_");
  if (!isOfAgent) throw error;
}
