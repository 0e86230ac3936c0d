import { fileChangesIn, fileNoteKey, mergeFileChanges, type FileChange } from "../data/FileChange.ts";
import type { NotePoint } from "../records/NoteRecord.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import type { NoteRecord } from "../records/NoteRecord.ts";
import type { RestatedEntry } from "../records/AgentRecord.ts";
import type { BlobTexts } from "../state/ValueReader.ts";
import { envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";

const hashes = /[0-9a-f]{64}/g;

/**
 * The hashes of all contents that a rollback or a checkpoint may still need. Of a file that changed several times between
 * two kept checkpoints it needs the first state and the last: no rollback goes to a point in between. Any other note needs
 * all contents that it names or added. A reverted note needs none.
 *
 * @param restated the kept part of the log.
 * @param kept versions of kept checkpoints.
 * @param texts the texts of the blobs that contain values of notes.
 * @returns `undefined` if every content may be needed: a note cannot be read, or a command was interrupted. Only its workspace
 *   reads the scan before the command, which names contents.
 */
export function neededContents(
  index: LogProjection,
  restated: readonly RestatedEntry[],
  kept: ReadonlySet<number>,
  texts: BlobTexts,
): ReadonlySet<string> | undefined {
  const needed = new Set(restated.flatMap(requiredHashes));
  const spans = new Map<number, Map<string, FileChange>>();
  const open = new Set<string>();
  for (const [{ record }, end] of effectiveNotes(index, kept)) {
    const text = textOf(record.value, texts);
    if (text === undefined) return undefined;
    noteCapture(record, text, open);
    // A run may replay what follows the last kept checkpoint.
    const changes = end === undefined ? undefined : changesIn(record, text);
    if (end !== undefined && changes) spans.set(end, mergeFileChanges(changes, spans.get(end)));
    else for (const hash of contentsOf(record, text)) needed.add(hash);
  }
  if (open.size > 0) return undefined;
  for (const { before, after } of [...spans.values()].flatMap((files) => [...files.values()]))
    for (const state of [before, after]) if (state?.kind === "file") needed.add(state.hash);
  return needed;
}

/**
 * Each note that is not reverted, oldest first, with the version of the next kept checkpoint on its lane. What stands on a line
 * that is closed is taken back with what is around it: then it is the next on the lane around.
 */
function* effectiveNotes(index: LogProjection, kept: ReadonlySet<number>): Generator<[NotePoint, number | undefined]> {
  const ahead = new Map<number, { readonly version: number; readonly order: number }[]>();
  for (const { version, order, record } of [...index.checkpoints.values()].reverse()) {
    const points = ahead.get(record.lane) ?? [];
    if (kept.has(version)) points.push({ version, order });
    ahead.set(record.lane, points);
  }
  for (const note of index.notes) {
    const lane = laneAround(index, note.record.lane);
    const points = (lane === undefined ? undefined : ahead.get(lane)) ?? [];
    while ((points.at(-1)?.order ?? Infinity) < note.order) points.pop();
    if (!index.revertedNotes.has(note)) yield [note, points.at(-1)?.version];
  }
}

/** The lane of the innermost line around a lane that no checkpoint has closed; `undefined`: it is nested in another, and may go on beside it. */
function laneAround({ lines }: LogProjection, lane: number): number | undefined {
  let at = lane;
  for (let line = lines.nestedLine(at); line; line = lines.nestedLine(at)) {
    if (line.closed === undefined) return undefined;
    at = line.place.parent;
  }
  return at;
}

/** Adds the id of a capture that starts, and removes that of one that ends. */
function noteCapture({ key }: NoteRecord, text: string, open: Set<string>): void {
  if (key !== fileNoteKey) return;
  const { began, ended, scan } = (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof began === "string" && scan !== undefined) open.add(began);
  if (typeof ended === "string") open.delete(ended);
}

/** The contents that a note names or added. A note of `null` only adds contents that other notes name. */
function contentsOf({ key, packs = [] }: NoteRecord, text: string): readonly string[] {
  const own = key === fileNoteKey || text === "null" ? [] : packs.flatMap(({ contents }) => contents);
  return [...(text.match(hashes) ?? []), ...own.map(([hash]) => hash)];
}

/** The stored form of a value, as JSON text. */
function textOf(value: StoredValue, texts: BlobTexts): string | undefined {
  if (envelopeKeyOf(value) !== "$blob") return JSON.stringify(value) ?? "";
  const text = texts.get((value as { readonly $blob: readonly [string] }).$blob[0]);
  return typeof text === "string" ? text : undefined;
}

/** The changes of files in a note; `undefined` when it contains anything else. */
function changesIn({ key }: NoteRecord, text: string): readonly FileChange[] | undefined {
  if (key !== fileNoteKey) return undefined;
  const value: unknown = JSON.parse(text);
  const changes = fileChangesIn(value);
  const listed = (value as { readonly changes?: readonly unknown[] } | null)?.changes;
  return changes.length === listed?.length ? changes : undefined;
}

function requiredHashes({ records }: RestatedEntry): readonly string[] {
  return records.flatMap((record) =>
    record.kind === "requirements" ? Object.values(record.hashes ?? {}).filter((hash) => hash !== null) : [],
  );
}
