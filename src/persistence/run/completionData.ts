import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { changedFiles } from "../../journal/notesAround.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { CompletionData } from "../record/checkpointRecord.ts";
import { z } from "zod";

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
