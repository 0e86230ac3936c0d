import { AgentLog } from "../storage/AgentLog.ts";
import type { BlobStore } from "../storage/BlobStore.ts";
import { setNewest } from "../internal/deleteOldest.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { placesLeft, placesRejoined, placesUpTo, lanesTo } from "../checkpoint/lines/lineage.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { AgentRecord, NoteRecord } from "../checkpoint/records/AgentRecord.ts";
import type { RollbackGoal } from "./planRollback.ts";
import type { Note } from "./RollbackParticipant.ts";
import { type FileChange, fileChangesIn, fileNoteKey, summarizeFileChanges } from "../checkpoint/data/FileChange.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";

/** Returns the unreverted notes of a participant in the history of a checkpoint, oldest first. */
export function notesBefore(index: LogProjection, target: CheckpointPoint, key: string): readonly NoteRecord[] {
  return notesWhere(index, key, placesUpTo(index, target));
}

/** Returns the notes of a participant that a rollback reverts, newest first, including those on abandoned branches. */
export function notesLeft(index: LogProjection, { target, base }: RollbackGoal, key: string): readonly NoteRecord[] {
  return notesWhere(index, key, placesLeft(index, target, base)).reverse();
}

/** Returns the notes of a participant that a redo restores, oldest first. */
export function notesToRedo(index: LogProjection, { target, base }: RollbackGoal, key: string): readonly NoteRecord[] {
  const isRejoined = base ? placesRejoined(index, target, base) : () => false;
  const found = index.notes.filter(
    (note) => note.record.key === key && index.isRedoable(note) && isRejoined(note.record.lane, note.order),
  );
  return found.map(({ record }) => record);
}

/** Returns the unreverted notes of a participant in the run of a checkpoint, on all branches, oldest first. */
export function notesOfRun(index: LogProjection, { runId }: CheckpointPoint, key: string): readonly NoteRecord[] {
  return notesWhere(index, key, (lane) => index.lanes.get(lane)?.runId === runId);
}

export function noteOf({ value, call }: NoteRecord, log: AgentLog): Note {
  if (call === undefined) return { value: log.readValue(value) };
  return { value: log.readValue(value), toolCallId: call, ...(!log.index.succeeded(call) && { uncertain: true }) };
}

function notesWhere(
  { notes, revertedNotes }: LogProjection,
  key: string,
  isThere: (lane: number, order: number) => boolean,
): NoteRecord[] {
  const found = notes.filter(
    (note) => note.record.key === key && !revertedNotes.has(note) && isThere(note.record.lane, note.order),
  );
  return found.map(({ record }) => record);
}

/** Returns the sorted paths of a run's unreverted file changes. The appends after `after` all belong to this run. */
export async function changedFiles(
  log: RecordLog,
  agentId: string,
  runId: string,
  after?: number,
): Promise<readonly string[]> {
  const stored = await (after === undefined
    ? readLastRun(log, agentId, fileNoteKey)
    : AgentLog.read(log, agentId, { after }, isNote(fileNoteKey)));
  const notes = notesWhere(
    stored.index,
    fileNoteKey,
    (lane) => after !== undefined || stored.index.lanes.get(lane)?.runId === runId,
  );
  const changes = summarizeFileChanges(notes.flatMap(({ value }) => fileChangesIn(stored.readValue(value))));
  const paths = Object.values(changes).flatMap((files: readonly FileChange[]) => files.map(({ path }) => path));
  return paths.toSorted();
}

/**
 * Returns the values of a participant's notes in the history of the head, oldest first. Includes notes of branches and
 * sub-agents. Takes no ownership.
 */
export async function notedValues(log: RecordLog, agentId: string, key: string): Promise<readonly unknown[]> {
  const stored = await readLastRun(log, agentId, key);
  const { index } = stored;
  const { runId, lane } = foldTo(index) ?? { runId: undefined, lane: 0 };
  const isInHistory = placesUpTo(index, { version: 0, order: Infinity, record: { lane } });
  const isOfRun = (at: number) => index.lanes.get(at)?.runId === runId;
  const notes = notesWhere(index, key, (at, order) => isOfRun(at) && isInHistory(at, order));
  return notes.map(({ value }) => stored.readValue(value));
}

/** Reads the log at least from the start of the last run, with the notes of a participant or of all. */
export function readLastRun(log: RecordLog, agentId: string, key?: string): Promise<AgentLog> {
  return AgentLog.readRecent(log, agentId, reachesRun, isNote(key));
}

function isNote(key?: string) {
  return (record: AgentRecord): boolean => record.kind === "note" && (!key || record.key === key);
}

/** Returns whether a log contains the history of the head since the start of its run. */
function reachesRun({ index }: AgentLog): boolean {
  const { base, lanes, lines, merged, needsWhole } = index;
  if (needsWhole || merged.length > 0 || !foldTo(index)) return false;
  if (base?.first && !base.state.checkpoint?.record.move) return true;
  return lanesTo(index, lines.mainLane).some(({ lane }) => (lanes.get(lane)?.record.keep ?? "all") !== "all");
}

interface ContentSource {
  readonly blobs: BlobStore;
  readonly agentId: string;
  readonly index: LogProjection;
  readonly sha256: Sha256;
}

/** Reads a content of notes by its hash. `undefined` if the log has no such content. @throws CorruptBlobError */
export type ReadContent = (hash: string) => Promise<Uint8Array | undefined>;

/** The number of blobs that a reader keeps. Neighboring files share a blob unless one of them changed recently. */
const mostBlobs = 4;

/** Returns a reader of noted contents. */
export function contentReader({ blobs, agentId, index, sha256 }: ContentSource): ReadContent {
  const recent = new Map<string, Promise<Uint8Array | undefined>>();
  return async (hash) => {
    const place = index.contents.get(hash);
    if (!place) return undefined;
    const { blob, offset } = place;
    const pack = recent.get(blob) ?? blobs.get(agentId, blob);
    setNewest(recent, blob, pack, mostBlobs);
    try {
      const bytes = (await pack)?.slice(offset, offset + place.bytes);
      return bytes && sha256.hex(bytes) === hash ? bytes : undefined;
    } catch (error) {
      // Allows another attempt at the next read.
      if (recent.get(blob) === pack) recent.delete(blob);
      throw error;
    }
  };
}
