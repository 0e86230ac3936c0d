import { z } from "zod";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { changedFiles } from "../../journal/notesAround.ts";
import type { CompletionData } from "../saving/checkpointRecord.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import type { DurableCall } from "./DurableCall.ts";

const resultsSchema: z.ZodType = z.array(z.unknown());

/** Verifies the output of a run, and finds its changed files. The appends after `after` all belong to this run. */
export async function completionData(
  { setup: { participants, log }, journal, request: { options } }: DurableCall,
  { run: { run: runId } }: RunRecorder,
  output: unknown,
  after: number | undefined,
): Promise<CompletionData> {
  const { writer, agentId } = journal;
  const verify = "verify" in options ? options.verify : undefined;
  const results = verify && (checkSchema(resultsSchema, await verify(output), "verification") as readonly unknown[]);
  await journal.durable();
  // After a rollback, an earlier run may continue.
  const { run = runId } = journal.statusState.run ?? {};
  const changesFiles = participants.some(({ key }) => key === fileNoteKey);
  const files = changesFiles ? await changedFiles(log, agentId, run, run === runId ? after : undefined) : [];
  return {
    ...(results && { verification: results.map((result) => writer.value(result, "a verification result")) }),
    ...(files.length > 0 && { files: writer.value(files, "the files that the run changed") }),
  };
}
