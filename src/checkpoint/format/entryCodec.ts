import { includesText } from "../../internal/bytes.ts";
import type { ChainLink } from "./EntryChain.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { maximumDepth } from "../../internal/frozenCopy.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import type { Entry } from "../records/Entry.ts";

/** The first bytes of an encoded append with a snapshot. Other appends start with a bracket. */
export const snapshotMark = '{"snapshot":';

const plainStart = '["';
const snapshotStart = `${snapshotMark}["`;
const checksumLength = 43;
const place = /^(?:\{"snapshot":)?\["([A-Za-z0-9_-]{43})","([A-Za-z0-9_-]{43}|)",([1-9][0-9]{0,15}),/;
const longestPlace = 160;
const impliedGeneration =
  /^(?:\{"snapshot":)?\["[A-Za-z0-9_-]{43}","[A-Za-z0-9_-]*",[0-9]{1,16},"([1-9][0-9]{0,14})-[0-9]{1,16}",/;
const generatedId = /^([1-9][0-9]{0,14})-[0-9]+$/;
/** The stored form of a value such as a `Map` has several levels for each level of the value. */
const deepestRecords = 4 * maximumDepth;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();
/** JSON without these texts has no key "generation". `\u` starts an escape, which can stand for a letter of the key. */
const statedGeneration = ['"generation"', "\\u"].map((text) => encoder.encode(text));
const unknownChecksum = "-".repeat(checksumLength);
/** A buffer for all encodings. Never shrinks, because allocating a buffer costs more than encoding an append. */
let scratch = new Uint8Array(64 * 1024);

export interface EncodableEntry extends Omit<Entry, "checksum"> {
  readonly snapshot?: boolean;
  /** A summary in plain JSON, if the storage keeps summaries in the log. */
  readonly summary?: object;
}

/** A decoded append, or the reason why it is invalid. `checksum` means that the bytes do not match the checksum. */
export type DecodedEntry =
  | { readonly ok: true; readonly entry: Entry; readonly snapshot: boolean; readonly summary: object | undefined }
  | { readonly ok: false; readonly defect: "malformed" | "checksum" };

/**
 * Encodes an append in the stored form of all backends: one line of JSON text in UTF-8, with its line break.
 *
 * ```text
 * ["<checksum>","<prev>",<position>,"<id>",[<record>,…]]
 * ["<checksum>","<prev>",<position>,"<id>",[<record>,…],{"generation":<n>,"summary":{…}}]
 * {"snapshot":["<checksum>",…]}
 * ```
 *
 * The checksum covers every byte after the comma that follows the checksum, up to the line break. `generation` is
 * omitted if the id starts with it. An append with a snapshot is stored as an object, to be found by its first bytes.
 *
 * @returns `encoded` is valid only until the next call. Copy the bytes before you await.
 * @throws Errors of `JSON.stringify` for values that are not JSON.
 */
export function encodeEntry(
  entry: EncodableEntry,
  sha256: Sha256,
): { readonly encoded: Uint8Array; readonly checksum: string } {
  const start = entry.snapshot === true ? snapshotStart : plainStart;
  const { prev, position, id } = entry;
  const bodyAt = start.length + checksumLength + 2;
  const length = encode([
    `${start}${unknownChecksum}","${prev}",${position},${JSON.stringify(id)},`,
    JSON.stringify(entry.records),
    `${extrasOf(entry)}${entry.snapshot === true ? "]}\n" : "]\n"}`,
  ]);
  // The text is encoded only once. Then the checksum of its bytes replaces the placeholder.
  const checksum = sha256.base64url(scratch.subarray(bodyAt, length - 1));
  for (let at = 0; at < checksumLength; at++) scratch[start.length + at] = checksum.charCodeAt(at);
  return { encoded: scratch.subarray(0, length), checksum };
}

/** Decodes an append without its line break. The checksum is verified before the text is parsed. */
export function decodeEntry(encoded: string | Uint8Array, sha256: Sha256): DecodedEntry {
  const text = typeof encoded === "string" ? encoded : decoder.decode(encoded);
  if (!isEntry(text)) return { ok: false, defect: "malformed" };
  const at = text.startsWith(snapshotStart) ? snapshotStart.length : plainStart.length;
  const bodyAt = at + checksumLength + 2;
  // All characters before this offset are ASCII, so the offset counts characters as well as bytes.
  const body = typeof encoded === "string" ? encoded.slice(bodyAt) : encoded.subarray(bodyAt);
  if (text.slice(at, bodyAt) !== `${sha256.base64url(body)}",`) return { ok: false, defect: "checksum" };
  return parsedEntry(text);
}

function decodeVerifiedEntry(encoded: Uint8Array): DecodedEntry {
  const text = decoder.decode(encoded);
  return isEntry(text) ? parsedEntry(text) : { ok: false, defect: "malformed" };
}

function isEntry(text: string): boolean {
  return text.startsWith(snapshotStart) || text.startsWith(plainStart);
}

function parsedEntry(text: string): DecodedEntry {
  const parsed = parsedJson(text);
  // Only long appends can be too deep. Recursive code relies on this check.
  const deep = text.length > 2 * deepestRecords && isDeeper([parsed], deepestRecords + 1);
  return (deep ? undefined : entryOf(parsed, text.startsWith(snapshotStart))) ?? { ok: false, defect: "malformed" };
}

export function hasSnapshot(encoded: Uint8Array): boolean {
  return encoded[0] === snapshotStart.charCodeAt(0);
}

/** Returns the position and checksums of an encoded append, without verification. `undefined` for an unknown form. */
export function linkOf(encoded: Uint8Array): (ChainLink & { readonly prev: string }) | undefined {
  const [, checksum, prev, position] = place.exec(decoder.decode(encoded.subarray(0, longestPlace))) ?? [];
  if (checksum === undefined || prev === undefined) return undefined;
  return { checksum, prev, position: Number(position) };
}

/** Like {@link linkOf}, but also returns `undefined` for an invalid checksum. Does not parse the append. */
export function verifiedLinkOf(
  encoded: Uint8Array,
  sha256: Sha256,
): (ChainLink & { readonly prev: string }) | undefined {
  const link = linkOf(encoded);
  const start = hasSnapshot(encoded) ? snapshotStart.length : plainStart.length;
  return link?.checksum === sha256.base64url(encoded.subarray(start + checksumLength + 2)) ? link : undefined;
}

/** Returns the generation of a valid append. Parses the append only if its id may lack the generation. */
export function generationOfAppend(encoded: Uint8Array, sha256: Sha256): number | undefined {
  const isStated = statedGeneration.some((text) => includesText(encoded, text));
  const digits = isStated ? undefined : impliedGeneration.exec(decoder.decode(encoded.subarray(0, longestPlace)))?.[1];
  if (digits !== undefined) return Number(digits);
  const decoded = decodeEntry(encoded, sha256);
  return decoded.ok ? decoded.entry.generation : undefined;
}

function generationOfId(id: string): number | undefined {
  const digits = generatedId.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Encodes texts one after another into the buffer. Returns the total length in bytes. */
function encode(pieces: readonly string[]): number {
  let needed = 0;
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

function isDeeper(value: object, levels: number): boolean {
  if (levels === 0) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const item of items) if (typeof item === "object" && item !== null && isDeeper(item, levels - 1)) return true;
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

interface AppendLink extends ChainLink {
  readonly prev: string;
  readonly generation: number;
}

type VerifiedLink = Omit<AppendLink, "generation"> & { readonly generation?: number | undefined };

const known = new WeakMap<Uint8Array, VerifiedLink>();

/** Remembers that an append has a valid checksum, so that it is not hashed again. Do not change the bytes. */
export function noteVerified(encoded: Uint8Array, { position, checksum, prev, generation }: VerifiedLink): void {
  known.set(encoded, { position, checksum, prev, generation });
}

export function knownLinkOf(encoded: Uint8Array): VerifiedLink | undefined {
  return known.get(encoded);
}

export function appendLinkOf(encoded: Uint8Array, sha256: Sha256): AppendLink | undefined {
  const link: VerifiedLink | undefined = known.get(encoded) ?? verifiedLinkOf(encoded, sha256);
  const generation = link && (link.generation ?? generationOfAppend(encoded, sha256));
  return link && generation !== undefined ? { ...link, generation } : undefined;
}

/** Like `decodeEntry`, but does not hash an append whose checksum is known to be valid. */
export function decodeAppend(encoded: Uint8Array, sha256: Sha256): DecodedEntry {
  const link = known.get(encoded);
  const decoded = link === undefined ? decodeEntry(encoded, sha256) : decodeVerifiedEntry(encoded);
  if (decoded.ok && link?.generation === undefined) noteVerified(encoded, decoded.entry);
  return decoded;
}
