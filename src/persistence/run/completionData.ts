import { fileChangesIn, fileNoteKey, summarizeFileChanges } from "../../checkpoint/data/FileChange.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { Journal } from "../../journal/Journal.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { CompletionData } from "../record/checkpointRecord.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { z } from "zod";

const resultsSchema: z.ZodType = z.array(z.unknown());

/** What looks at the output of a run before its end is recorded; `undefined` when there is nothing to look at. */
export function completionData(
  { participants, log }: PersistenceSetup,
  journal: Journal,
  runId: string,
  verify: ((output: unknown) => readonly unknown[] | PromiseLike<readonly unknown[]>) | undefined,
): ((output: unknown) => Promise<CompletionData>) | undefined {
  const changesFiles = participants.some(({ key }) => key === fileNoteKey);
  if (!verify && !changesFiles) return undefined;
  const { writer, agentId } = journal;
  return async (output) => {
    const results = verify && (checkSchema(resultsSchema, await verify(output), "verification") as readonly unknown[]);
    await journal.durable();
    const files = changesFiles ? await changedFiles(log, agentId, runId) : [];
    return {
      ...(results && { verification: results.map((result) => writer.value(result, "a verification result")) }),
      ...(files.length > 0 && { files: writer.value(files, "the files that the run changed") }),
    };
  };
}

/** The paths of the files that a run has changed, and that nothing has taken back since: each once, sorted. */
export async function changedFiles(log: RecordLog, agentId: string, runId: string): Promise<readonly string[]> {
  const stored = await AgentLog.readNotes(log, agentId, fileNoteKey);
  const { notes, revertedNotes, lanes } = stored.index;
  const changes = notes
    .filter((note) => note.record.key === fileNoteKey && !revertedNotes.has(note))
    .filter(({ record }) => lanes.get(record.lane)?.runId === runId)
    .flatMap(({ record }) => fileChangesIn(stored.readValue(record.value)));
  const { modified, created, deleted } = summarizeFileChanges(changes);
  return [...modified, ...created, ...deleted].map(({ path }) => path).toSorted();
}
