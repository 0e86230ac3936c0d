import { reasonOf } from "../../internal/reasonOf.ts";
import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import type { Journal } from "../../journal/Journal.ts";

/** How much of a message and of a stack is kept, in characters. */
const keptCharacters = 10_000;

/**
 * A run that rejects is recorded as failed, and stays unfinished. Nothing is recorded of one that was refused before it
 * began, that the caller aborted (it counts as interrupted), or whose storage failed (nothing more can be).
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<void> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return;
  try {
    journal.append(
      statusRecords(journal.statusState, { status: "failed", at: journal.clock.now(), error: describeError(error) }),
    );
    await journal.durable();
  } catch {
    // The run rejects with what made it fail; that its failure could not be recorded leaves it interrupted.
  }
}

/** What is kept of an error. */
export function describeError(error: unknown): StatusRecord["error"] & object {
  const { name, stack } = shownOf(error);
  return {
    name: name ?? "Error",
    message: reasonOf(error).slice(0, keptCharacters),
    ...(AgentPersistenceError.isInstance(error) && { code: error.code }),
    ...(stack !== undefined && { stack: stack.slice(0, keptCharacters) }),
  };
}

/** What is thrown may be anything: fields of other types than an error has are passed over, and so are those that throw. */
function shownOf(error: unknown): { readonly name?: string; readonly stack?: string } {
  try {
    if (!(error instanceof Error)) return {};
    const { name, stack }: { readonly name: unknown; readonly stack?: unknown } = error;
    return { ...(typeof name === "string" && { name }), ...(typeof stack === "string" && { stack }) };
  } catch {
    return {};
  }
}
