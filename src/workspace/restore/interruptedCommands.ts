import { changesBetween } from "../capture/changesBetween.ts";
import { fileWithState, readScan } from "../capture/StoredScan.ts";
import type { Scan } from "../capture/Scan.ts";
import { type FileNote, fileNoteOf } from "../files/FileNote.ts";
import type { Note, ParticipantRequest } from "../../journal/RollbackParticipant.ts";

interface ReadNote extends Note {
  readonly files: FileNote;
}

/**
 * Returns the notes of a request, oldest first. For each interrupted command, adds a note after the start of the
 * command. It contains the changes up to the next capture, or up to now if there is no later capture. It is unknown
 * whether the command or others made these changes.
 *
 * @param scan scans the current directory, starting from an earlier scan
 * @throws UnreadableValueError, PathNotAllowedError, FileAccessError
 */
export async function withInterruptedCommands(
  { notes: newestFirst, content }: Pick<ParticipantRequest, "notes" | "content">,
  scan: (before: Scan) => Promise<Scan>,
): Promise<readonly Note[]> {
  const notes = newestFirst.toReversed().map((note): ReadNote => ({ ...note, files: fileNoteOf(note.value) }));
  const ended = new Set(notes.map(({ files }) => files.ended));
  const complete: Note[] = [];
  for (const [at, note] of notes.entries()) {
    complete.push(note);
    const { began, scan: hashes } = note.files;
    if (began === undefined || hashes === undefined || ended.has(began)) continue;
    const before = await readScan(hashes, content);
    if (!before) continue;
    const after = await scanBefore(notes.slice(at + 1), before, { content, scan });
    const changes: FileNote = { ...changesBetween(before, after), ended: began, interrupted: true };
    complete.push({ value: changes });
  }
  return complete;
}

/** Returns the directory before the changes of the notes, computed from the scan of the next capture. */
async function scanBefore(
  later: readonly ReadNote[],
  before: Scan,
  { content, scan }: Pick<ParticipantRequest, "content"> & { readonly scan: (before: Scan) => Promise<Scan> },
): Promise<Scan> {
  const next = later.findIndex(({ files }) => files.scan !== undefined);
  const stored = next < 0 ? undefined : await readScan(later[next]?.files.scan ?? [], content);
  const found = stored ?? (await scan(before));
  const since = stored ? later.slice(0, next) : later;
  const files = new Map(found.files);
  for (const { path, before: state } of since.flatMap((note) => note.files.changes).toReversed())
    if (state) files.set(path, fileWithState(state));
    else files.delete(path);
  return { ...found, files };
}
