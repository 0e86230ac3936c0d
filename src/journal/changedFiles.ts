import { fileChangesIn, fileNoteKey, summarizeFileChanges } from "../checkpoint/data/FileChange.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

/**
 * Returns the paths of files that a run changed and that were not reverted, each once, sorted.
 *
 * @param after a position after which the log has only this run. Earlier entries are not read. 0 reads the whole log.
 */
export async function changedFiles(
  log: RecordLog,
  agentId: string,
  runId: string,
  after: number,
): Promise<readonly string[]> {
  const stored = await AgentLog.readNotes(log, agentId, fileNoteKey, after);
  const { notes, revertedNotes, lanes } = stored.index;
  const isOfRun = (lane: number) => after > 0 || lanes.get(lane)?.runId === runId;
  const changes = notes
    .filter((note) => note.record.key === fileNoteKey && !revertedNotes.has(note))
    .filter(({ record }) => isOfRun(record.lane))
    .flatMap(({ record }) => fileChangesIn(stored.readValue(record.value)));
  const { modified, created, deleted } = summarizeFileChanges(changes);
  return [...modified, ...created, ...deleted].map(({ path }) => path).toSorted();
}
