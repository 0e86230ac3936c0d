import { CorruptBlobError } from "../../errors/storage/CorruptBlobError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { isAboutOneAgent } from "../../storage/unreadableSummary.ts";

/** Whether an error means that one task cannot be read, and says nothing about the others. */
export function isUnreadable(error: unknown): boolean {
  return isAboutOneAgent(error) || error instanceof CorruptBlobError || error instanceof UnreadableValueError;
}
