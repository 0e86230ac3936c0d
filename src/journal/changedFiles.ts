import { fileChangesIn, fileNoteKey, summarizeFileChanges } from "../checkpoint/data/FileChange.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

/**
 * The paths of the files that a run changed and that were not reverted since: each once, sorted.
 *
 * @param after a position after which only this run is recorded: what comes up to it is not read. 0: there is none.
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
