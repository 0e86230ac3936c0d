import type { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { CorruptLogError, UnsupportedFormatError, UnsupportedRecordError } from "../errors/storedDataErrors.ts";
import { StorageError } from "../errors/storageErrors.ts";
import type { AgentSummary } from "./RecordLog.ts";

/** The list status of an agent whose stored status cannot be read. */
export const unreadable = "unreadable" as const;

/** Returns the summary of an unreadable agent, so that a list can include it and does not fail. */
export function unreadableSummary(agentId: string, { code, message }: AgentPersistenceError): AgentSummary {
  const unknown = new Date(0).toISOString();
  return {
    agentId,
    status: unreadable,
    order: `${unknown} ${agentId}`,
    requestIds: [],
    position: 0,
    createdAt: unknown,
    updatedAt: unknown,
    data: { code, message },
  };
}

/** Whether an error concerns a single agent instead of the whole storage. */
export function isAboutOneAgent(error: unknown): error is AgentPersistenceError {
  if (error instanceof StorageError) return error.reason === "permission" || error.reason === "io";
  return [CorruptLogError, UnsupportedFormatError, UnsupportedRecordError].some((kind) => error instanceof kind);
}
