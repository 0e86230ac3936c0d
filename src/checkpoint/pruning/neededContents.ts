import { fileChangesIn, fileNoteKey, type FileChange } from "../data/FileChange.ts";
import type { LogProjection, NotePoint } from "../state/LogProjection.ts";
import type { NoteRecord } from "../records/NoteRecord.ts";
import type { RestatedEntry } from "../records/AgentRecord.ts";
import type { BlobTexts } from "../state/ValueReader.ts";
import { envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";

const hashes = /[0-9a-f]{64}/g;

/**
 * The hashes of all contents that somebody may still ask for. Of a file that changed several times between two kept
 * checkpoints these are the first state and the last, since nobody goes back to one in between; of any other note all that
 * it names or brought in. What a rollback has taken back needs nothing any more.
 *
 * @param restated what is kept of the log.
 * @param kept versions of kept checkpoints.
 * @param texts the blobs that values of notes are in.
 * @returns `undefined` when a note cannot be read: then nothing is known to be superfluous.
 */
export function neededContents(
  index: LogProjection,
  restated: readonly RestatedEntry[],
  kept: ReadonlySet<number>,
  texts: BlobTexts,
): ReadonlySet<string> | undefined {
  const needed = new Set(restated.flatMap(requiredHashes));
  const spans = new Map<number, Map<string, FileChange>>();
  for (const [{ record }, end] of standingNotes(index, kept)) {
    const text = textOf(record.value, texts);
    if (text === undefined) return undefined;
    // What comes after the last kept checkpoint may be replayed.
    const changes = end === undefined ? undefined : changesIn(record, text);
    if (end !== undefined && changes) spans.set(end, merged(spans.get(end), changes));
    else for (const hash of contentsOf(record, text)) needed.add(hash);
  }
  const states = [...spans.values()].flatMap((files) =>
    [...files.values()].flatMap(({ before, after }) => [before, after]),
  );
  for (const state of states) if (state?.kind === "file") needed.add(state.hash);
  return needed;
}

/** Each note that was not taken back, with the version of the next kept checkpoint on its lane, in their order. */
function* standingNotes(index: LogProjection, kept: ReadonlySet<number>): Generator<[NotePoint, number | undefined]> {
  const ahead = new Map<number, { readonly version: number; readonly order: number }[]>();
  for (const { version, order, record } of [...index.checkpoints.values()].reverse())
    if (kept.has(version)) ahead.set(record.lane, [...(ahead.get(record.lane) ?? []), { version, order }]);
  for (const note of index.notes) {
    const points = ahead.get(note.record.lane) ?? [];
    while ((points.at(-1)?.order ?? Infinity) < note.order) points.pop();
    if (!index.notesTakenBack.has(note)) yield [note, points.at(-1)?.version];
  }
}

/** What a note names, and what it brought in. One that says nothing only brings in what others name. */
function contentsOf({ key, packs = [] }: NoteRecord, text: string): readonly string[] {
  const own = key === fileNoteKey || text === "null" ? [] : packs.flatMap(({ contents }) => contents);
  return [...(text.match(hashes) ?? []), ...own.map(([hash]) => hash)];
}

/** A value as JSON text in its stored form. */
function textOf(value: StoredValue, texts: BlobTexts): string | undefined {
  if (envelopeKeyOf(value) !== "$blob") return JSON.stringify(value) ?? "";
  const text = texts.get((value as { readonly $blob: readonly [string] }).$blob[0]);
  return typeof text === "string" ? text : undefined;
}

/** `undefined` for a note that is none of changes of files, or has another form. */
function changesIn({ key }: NoteRecord, text: string): readonly FileChange[] | undefined {
  if (key !== fileNoteKey) return undefined;
  const value: unknown = JSON.parse(text);
  const changes = fileChangesIn(value);
  const listed = (value as { readonly changes?: readonly unknown[] } | null)?.changes;
  return changes.length === listed?.length ? changes : undefined;
}

/** Each path with its first state and its last. */
function merged(files: Map<string, FileChange> = new Map(), changes: readonly FileChange[]): Map<string, FileChange> {
  for (const change of changes) {
    const { before } = files.get(change.path) ?? change;
    const { path, after } = change;
    files.set(path, { path, ...(before && { before }), ...(after && { after }) });
  }
  return files;
}

function requiredHashes({ records }: RestatedEntry): readonly string[] {
  return records.flatMap((record) =>
    record.kind === "requirements" ? Object.values(record.hashes ?? {}).filter((hash) => hash !== null) : [],
  );
}
