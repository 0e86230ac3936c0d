import type { RunRequest } from "../../agent/feature/RunRequest.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { describeError } from "../../journal/describeError.ts";
import type { Journal } from "../../journal/Journal.ts";
import { failedCallsIn } from "../journaling/failedCallsIn.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { changedFiles } from "../../journal/notesAround.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { CompletionData } from "../record/checkpointRecord.ts";
import { z } from "zod";

/**
 * Records a rejected run as failed. The run stays unfinished. Three kinds of runs are not recorded: runs that were
 * rejected before they started, runs that their caller aborted (they count as interrupted), and runs whose storage
 * failed.
 *
 * @returns Whether the failure is recorded.
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<boolean> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return false;
  try {
    const { usage } = journal;
    // Unfinished calls of an earlier failure must be retried as well.
    const failedCalls = [...new Set([...(journal.statusState.failedCalls ?? []), ...failedCallsIn(error)])];
    const failed = { status: "failed", at: journal.clock.now(), error: describeError(error) } as const;
    const facts = { ...(usage && { usage }), ...(failedCalls.length > 0 && { failedCalls }) };
    await journal.store(statusRecords(journal.statusState, { ...failed, ...facts }));
    return true;
  } catch {
    // The run rejects with its original error. Without this record, the run counts as interrupted.
    return false;
  }
}

const resultsSchema: z.ZodType = z.array(z.unknown());

export function completionData(
  { participants, log }: PersistenceSetup,
  journal: Journal,
  { run: { run: runId }, recording }: RunRecorder,
  verify: ((output: unknown) => readonly unknown[] | PromiseLike<readonly unknown[]>) | undefined,
): ((output: unknown) => Promise<CompletionData>) | undefined {
  const changesFiles = participants.some(({ key }) => key === fileNoteKey);
  if (!verify && !changesFiles) return undefined;
  const { writer, agentId } = journal;
  // For a resumed run, include changes that earlier owners noted.
  const after = recording ? 0 : journal.position;
  return async (output) => {
    const results = verify && (checkSchema(resultsSchema, await verify(output), "verification") as readonly unknown[]);
    await journal.durable();
    const files = changesFiles ? await changedFiles(log, agentId, runId, after) : [];
    return {
      ...(results && { verification: results.map((result) => writer.value(result, "a verification result")) }),
      ...(files.length > 0 && { files: writer.value(files, "the files that the run changed") }),
    };
  };
}
