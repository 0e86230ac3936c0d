import { fileChangesIn, fileNoteKey, mergeFileChanges, type FileChange } from "../data/FileChange.ts";
import type { NotePoint, NoteRecord, RestatedEntry, AgentRecord } from "../records/AgentRecord.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import type { BlobTexts } from "../state/ValueReader.ts";
import { envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";
import { isRestating } from "../format/ShapeRecord.ts";
import { addAllBlobs, blobCellsOf } from "../records/blobReferences.ts";
import type { LogRecord } from "../records/Entry.ts";

const hashes = /[0-9a-f]{64}/g;

/**
 * Returns the SHA-256 of all file contents that a rollback or checkpoint can need. A rollback stops only at kept
 * checkpoints. So of the file changes between two kept checkpoints, only the first and the last content of each file
 * are needed. A reverted note needs no contents. A note of another kind needs all contents that it names.
 *
 * @returns `undefined` if every content can be needed, because a note cannot be read or a command was interrupted.
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
    // After the last kept checkpoint, a run can replay each record, so all contents are needed.
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
 * Yields each valid note, oldest first, with the version of the next kept checkpoint. A rollback reverts the notes of a
 * finished branch or sub-agent together with the node that started it, so the next checkpoint of that node counts.
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

/** Returns the lane around the finished branches and sub-agents of a lane. `undefined` if any of them still runs. */
function laneAround({ lines }: LogProjection, lane: number): number | undefined {
  let at = lane;
  for (const { closed, place } of lines.around(lane)) {
    if (closed === undefined) return undefined;
    at = place.parent;
  }
  return at;
}

function noteCapture({ key }: NoteRecord, text: string, open: Set<string>): void {
  if (key !== fileNoteKey) return;
  const { began, ended, scan } = (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof began === "string" && scan !== undefined) open.add(began);
  if (typeof ended === "string") open.delete(ended);
}

/** Returns the contents that a note needs. The value `null` means that other notes name its contents. */
function contentsOf({ key, packs = [] }: NoteRecord, text: string): readonly string[] {
  const own = key === fileNoteKey || text === "null" ? [] : packs.flatMap(({ contents }) => contents);
  return [...(text.match(hashes) ?? []), ...own.map(([hash]) => hash)];
}

function textOf(value: StoredValue, texts: BlobTexts): string | undefined {
  if (envelopeKeyOf(value) !== "$blob") return JSON.stringify(value) ?? "";
  const text = texts.get((value as { readonly $blob: readonly [string] }).$blob[0]);
  return typeof text === "string" ? text : undefined;
}

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

/**
 * Adds the blobs that a record needs, with their lengths. Call this function for all records in order. A record that
 * replaces earlier records also replaces their blobs.
 */
export function addNeededBlobs(record: LogRecord, into: Map<string, number>): void {
  const { restated } = record as { readonly restated?: unknown };
  const isPruning = record.kind === "pruned" && Array.isArray(restated);
  if (isPruning || isRestating(record)) into.clear();
  const stated = isPruning ? (restated as RestatedEntries).flatMap(({ records }) => records) : [record as AgentRecord];
  for (const each of stated) addAllBlobs(each, into);
  for (const [reference, bytes] of valuesOfShapes(record).flatMap(blobCellsOf)) into.set(reference, bytes);
}

type RestatedEntries = readonly { readonly records: readonly AgentRecord[] }[];

/** Returns the values in the records of threads and sessions: list items, and inputs and results of tool calls. */
function valuesOfShapes(record: LogRecord): readonly StoredValue[] {
  const { items, input, end } = record as ValuesOfShapes;
  const { output, command } = Object(end) as NonNullable<ValuesOfShapes["end"]>;
  const values = [...(Array.isArray(items) ? (items as readonly StoredValue[]) : []), input, output, command];
  return values.filter((value) => value !== undefined);
}

interface ValuesOfShapes {
  readonly items?: unknown;
  readonly input?: StoredValue;
  readonly end?: { readonly output?: StoredValue; readonly command?: StoredValue };
}
