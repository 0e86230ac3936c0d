import type { RunRequest } from "../agent/RunRequest.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import type { Journal } from "../journal/Journal.ts";
import { agentSummary } from "./agentSummary.ts";

/**
 * A run that rejects is recorded as failed, and stays unfinished. Nothing is recorded of one that was refused before it
 * began, that the caller aborted (it counts as interrupted), or whose storage failed (nothing more can be).
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<void> {
  const { running } = journal;
  if (!running || journal.failed || journal.lost.aborted || options.signal?.aborted) return;
  const at = journal.clock.now();
  const shown = describe(error);
  const data = {
    failedAt: new Date(at).toISOString(),
    errorType: shown.name,
    errorMessage: shown.message,
    recoverable: true,
  };
  const summary = agentSummary({
    agentId: journal.agentId,
    runId: running.runId,
    status: "failed",
    createdAt: running.createdAt,
    updatedAt: at,
    data,
  });
  try {
    journal.append([{ kind: "status", run: running.runId, status: "failed", at, error: shown }], { summary });
    await journal.durable();
  } catch {
    // The run rejects with what made it fail; that its failure could not be recorded leaves it interrupted.
  }
}

function describe(error: unknown): { readonly name: string; readonly message: string; readonly code?: string } {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  return {
    name: error.name,
    message: error.message,
    ...(AgentPersistenceError.isInstance(error) && { code: error.code }),
  };
}
