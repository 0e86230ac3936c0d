import { fileChangesIn, fileNoteKey, summarizeFileChanges } from "../checkpoint/data/FileChange.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

/** The paths of the files that a run changed and that were not reverted since: each once, sorted. */
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
