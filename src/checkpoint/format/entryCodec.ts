import type { ChainLink } from "./EntryChain.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { maximumDepth } from "../../internal/maximumDepth.ts";
import type { Entry } from "../records/Entry.ts";

/** The first bytes of a line that contains a snapshot; the line of any other entry begins with a bracket. */
export const snapshotMark = '{"snapshot":';

const plainStart = '["';
const snapshotStart = `${snapshotMark}["`;
const checksumLength = 43;
const place = /^(?:\{"snapshot":)?\["([A-Za-z0-9_-]{43})","([A-Za-z0-9_-]{43}|)",([1-9][0-9]{0,15}),/;
const longestPlace = 160;
/** After the place: an id that begins with the generation. */
const impliedGeneration =
  /^(?:\{"snapshot":)?\["[A-Za-z0-9_-]{43}","[A-Za-z0-9_-]*",[0-9]{1,16},"([1-9][0-9]{0,14})-[0-9]{1,16}",/;
const generatedId = /^([1-9][0-9]{0,14})-[0-9]+$/;
/** Rich values are stored with a few levels for each of their own. */
const deepestRecords = 4 * maximumDepth;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();
const unknownChecksum = "-".repeat(checksumLength);
/** The buffer of every encoding: allocating one for each line costs more than encoding it. It only grows. */
let scratch = new Uint8Array(64 * 1024);

/** An entry to encode: without its checksum, and with what is stored beside the records. */
export interface EncodableEntry extends Omit<Entry, "checksum"> {
  /** True when the records contain a snapshot. Default: false. */
  readonly snapshot?: boolean;
  /** A summary to store with the entry, for a backend that cannot change another place together with it. Plain JSON. */
  readonly summary?: object;
}

/** A decoded line, or why it is invalid. `checksum`: its bytes differ from those that were encoded. */
export type DecodedEntry =
  | { readonly ok: true; readonly entry: Entry; readonly snapshot: boolean; readonly summary: object | undefined }
  | { readonly ok: false; readonly defect: "malformed" | "checksum" };

/**
 * The stored form of an append, shared by all backends: one line of JSON text in UTF-8, with its line break.
 *
 *     ["<checksum>","<prev>",<position>,"<id>",[<record>,…]]
 *     ["<checksum>","<prev>",<position>,"<id>",[<record>,…],{"generation":<n>,"summary":{…}}]
 *     {"snapshot":["<checksum>",…]}
 *
 * The checksum covers every byte after its own comma, up to the line break. `generation` is omitted if the id begins with
 * it. An append with a snapshot is an object, so that a reader finds it by its first bytes, without parsing.
 *
 * @returns `line` is valid only until the next call: copy it before you wait for anything.
 * @throws what `JSON.stringify` throws for values that are not JSON.
 */
export function encodeEntry(
  entry: EncodableEntry,
  sha256: Sha256,
): { readonly line: Uint8Array; readonly checksum: string } {
  const start = entry.snapshot === true ? snapshotStart : plainStart;
  const { prev, position, id } = entry;
  const bodyAt = start.length + checksumLength + 2;
  const length = encode([
    `${start}${unknownChecksum}","${prev}",${position},${JSON.stringify(id)},`,
    JSON.stringify(entry.records),
    `${extrasOf(entry)}${entry.snapshot === true ? "]}\n" : "]\n"}`,
  ]);
  // The text is encoded once; the checksum is computed from its bytes and written over the placeholder.
  const checksum = sha256.base64url(scratch.subarray(bodyAt, length - 1));
  for (let at = 0; at < checksumLength; at++) scratch[start.length + at] = checksum.charCodeAt(at);
  return { line: scratch.subarray(0, length), checksum };
}

/** Decodes one line, given without its line break. The checksum is verified before the line is parsed. */
export function decodeEntry(line: string | Uint8Array, sha256: Sha256): DecodedEntry {
  const text = typeof line === "string" ? line : decoder.decode(line);
  const snapshot = text.startsWith(snapshotStart);
  if (!snapshot && !text.startsWith(plainStart)) return { ok: false, defect: "malformed" };
  const at = snapshot ? snapshotStart.length : plainStart.length;
  const bodyAt = at + checksumLength + 2;
  // In a line that `encodeEntry` wrote, the text up to here is ASCII, so the offset is valid for the bytes too.
  const body = typeof line === "string" ? line.slice(bodyAt) : line.subarray(bodyAt);
  if (text.slice(at, bodyAt) !== `${sha256.base64url(body)}",`) return { ok: false, defect: "checksum" };
  const parsed = parse(text);
  // Only a long line can be nested so deeply. Nothing that walks its values has to mind their depth.
  const deep = text.length > 2 * deepestRecords && isDeeper(parsed, deepestRecords);
  return (deep ? undefined : entryOf(parsed, snapshot)) ?? { ok: false, defect: "malformed" };
}

/** Whether a line says that it contains a snapshot. Nothing is verified. */
export function isSnapshotLine(line: Uint8Array): boolean {
  return line[0] === snapshotStart.charCodeAt(0);
}

/** The place of an entry, from the first bytes of its line; nothing is verified. `undefined`: the line has another form. */
export function linkOf(line: Uint8Array): (ChainLink & { readonly prev: string }) | undefined {
  const [, checksum, prev, position] = place.exec(decoder.decode(line.subarray(0, longestPlace))) ?? [];
  if (checksum === undefined || prev === undefined) return undefined;
  return { checksum, prev, position: Number(position) };
}

/** As {@link linkOf}, if the checksum of the line is valid; `undefined` otherwise. Use it to copy a line without parsing it. */
export function verifiedLinkOf(line: Uint8Array, sha256: Sha256): (ChainLink & { readonly prev: string }) | undefined {
  const link = linkOf(line);
  const start = isSnapshotLine(line) ? snapshotStart.length : plainStart.length;
  return link?.checksum === sha256.base64url(line.subarray(start + checksumLength + 2)) ? link : undefined;
}

/**
 * The generation of the append on a line. It is parsed only where the generation stands apart from the id, as
 * {@link encodeEntry} writes it. `undefined`: the line is no entry.
 */
export function generationOfLine(line: Uint8Array, sha256: Sha256): number | undefined {
  // The records end with a bracket, and what follows them with a brace.
  const hasExtras = line.at(isSnapshotLine(line) ? -3 : -2) !== "]".charCodeAt(0);
  const digits = hasExtras ? undefined : impliedGeneration.exec(decoder.decode(line.subarray(0, longestPlace)))?.[1];
  if (digits !== undefined) return Number(digits);
  const decoded = decodeEntry(line, sha256);
  return decoded.ok ? decoded.entry.generation : undefined;
}

/** The generation in a generated id, `<generation>-<number>`; `undefined` for any other id. */
export function generationOfId(id: string): number | undefined {
  const digits = generatedId.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Encodes pieces one after another into the buffer, without joining them first. Returns their length in bytes. */
function encode(pieces: readonly string[]): number {
  let needed = 0;
  // A character takes three bytes at most.
  for (const piece of pieces) needed += piece.length * 3;
  if (needed > scratch.length) scratch = new Uint8Array(2 * needed);
  let length = 0;
  for (const piece of pieces) length += encoder.encodeInto(piece, scratch.subarray(length)).written;
  return length;
}

function extrasOf({ id, generation, summary }: EncodableEntry): string {
  const implied = generationOfId(id) === generation;
  if (implied && summary === undefined) return "";
  return `,${JSON.stringify({ ...(implied ? {} : { generation }), ...(summary === undefined ? {} : { summary }) })}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const item of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(item, levels - 1)) return true;
  return false;
}

function entryOf(value: unknown, snapshot: boolean): DecodedEntry | undefined {
  const fields = snapshot ? (value as { readonly snapshot?: unknown } | undefined)?.snapshot : value;
  return Array.isArray(fields) ? entryOfFields(fields, snapshot) : undefined;
}

function entryOfFields(fields: readonly unknown[], snapshot: boolean): DecodedEntry | undefined {
  const [checksum, prev, position, id, records, extras = {}] = fields;
  if (typeof checksum !== "string" || typeof prev !== "string" || typeof id !== "string") return undefined;
  if (!isPositive(position) || !isRecords(records) || !isExtras(extras)) return undefined;
  const { generation = generationOfId(id), summary } = extras;
  if (!isPositive(generation)) return undefined;
  return { ok: true, entry: { position, generation, id, records, checksum, prev }, snapshot, summary };
}

function isPositive(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRecords(value: unknown): value is Entry["records"] {
  return (
    Array.isArray(value) &&
    value.every((record) => isObject(record) && typeof (record as { kind?: unknown }).kind === "string")
  );
}

function isExtras(value: unknown): value is { readonly generation?: unknown; readonly summary?: object } {
  if (!isObject(value)) return false;
  const { summary } = value as { readonly summary?: unknown };
  return summary === undefined || isObject(summary);
}
