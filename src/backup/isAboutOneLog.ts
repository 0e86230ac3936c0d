import { AgentBusyError } from "../errors/storageErrors.ts";
import { CorruptBlobError, InvalidArchiveError, UnreadableValueError } from "../errors/storedDataErrors.ts";
import { isAboutOneAgent } from "../storage/summaries.ts";

const kinds = [AgentBusyError, CorruptBlobError, InvalidArchiveError, UnreadableValueError];

/** Whether an error concerns a single log, so that a backup continues with the others. */
export function isAboutOneLog(error: unknown): boolean {
  return isAboutOneAgent(error) || kinds.some((kind) => error instanceof kind);
}
