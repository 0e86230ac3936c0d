import { fromBase64Url, toBase64Url } from "../../internal/bytes.ts";
import { z } from "zod";
import { decodeEntry } from "../../checkpoint/format/entryCodec.ts";
import { type Entry, type LogRecord, type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { EncodedAppend } from "../../storage/appends/encodeAppend.ts";
import type { LogAppend } from "../../storage/RecordLog.ts";
import { parseBlobReference, formatBlobReference } from "../../storage/blobs.ts";
import { blobsNamedIn } from "../../transfer/transferredBlobs.ts";
import type { DataKeys, DataKey } from "../keys/DataKeys.ts";
import { type PlainField, sealSummary } from "./sealedSummary.ts";

export const encryptedKind = "encrypted";

const encryptedSchema = z.object({
  kind: z.literal(encryptedKind),
  v: z.literal(1),
  key: z.string(),
  data: z.string(),
  blobs: z.array(z.string()).optional(),
});

/** The place of an append, to which its content is bound. */
interface AppendPlace {
  readonly agentId: string;
  readonly generation: number;
  readonly position: number;
  readonly id: string;
}

export interface OpenedAppend {
  /** The append as the library encoded it, without a line break. */
  readonly encoded: Uint8Array;
  readonly entry: Entry;
  readonly isSnapshot: boolean;
  readonly summary: object | undefined;
}

/**
 * Returns the records to store for an append without its line break: the encrypted bytes, and the names of its blobs
 * and the `gaps` of a pruning, which these bytes authenticate. The gaps have the checksums of stored appends.
 */
export async function sealRecords(
  key: DataKey,
  place: AppendPlace,
  encoded: Uint8Array,
  gaps: readonly PrunedGap[],
): Promise<readonly LogRecord[]> {
  const blobs: string[] = [];
  for (const reference of blobsNamedIn(encoded)) blobs.push(await blobNameOf(key, reference));
  const data = toBase64Url(await key.encrypt(encoded, contextOf(place, key.id, blobs, gaps)));
  const record = { kind: encryptedKind, v: 1, key: key.id, data, ...(blobs.length > 0 && { blobs }) };
  return gaps.length > 0 ? [record, { kind: "pruned", gaps } as LogRecord] : [record];
}

/** Encrypts an append with its summary. @param gaps - as for {@link sealRecords} */
export async function sealAppend(
  key: DataKey,
  { agentId, generation, id, snapshot }: Omit<AppendPlace, "position"> & { readonly snapshot: boolean },
  { encoded, end: { position }, summary }: EncodedAppend,
  gaps: readonly PrunedGap[],
  plain: readonly PlainField[],
): Promise<LogAppend> {
  return {
    id,
    records: await sealRecords(key, { agentId, generation, position, id }, encoded.subarray(0, -1), gaps),
    ...(snapshot && { snapshot }),
    ...(summary && { summary: await sealSummary(key, summary, plain) }),
  };
}

/** Returns the reference under which a blob is stored. */
export async function blobNameOf(key: DataKey, reference: string): Promise<string> {
  const parsed = parseBlobReference(reference);
  if (!parsed) return reference;
  return formatBlobReference({ ...parsed, hash: await key.nameOf(reference) });
}

/** Decrypts a stored append. @throws AuthenticationFailedError, KeyMissingError */
export async function openRecords(
  keys: DataKeys,
  agentId: string,
  { position, generation, id, records }: Entry,
  sha256: Sha256,
): Promise<OpenedAppend> {
  const failed = (found: string) => new AuthenticationFailedError(agentId, position, found);
  const [first, ...rest] = records;
  const parsed = encryptedSchema.safeParse(first).data;
  if (!parsed || rest.length > 1) throw failed("it is not encrypted");
  const key = await keys.reading(agentId, parsed.key);
  const context = contextOf({ agentId, generation, position, id }, parsed.key, parsed.blobs ?? [], prunedGapsOf(rest));
  const bytes = fromBase64Url(parsed.data);
  const encoded = bytes && (await key?.decrypt(bytes, context));
  if (!encoded) throw failed("it was changed, or it belongs to another agent or position");
  const decoded = decodeEntry(encoded, sha256);
  if (!decoded.ok || decoded.entry.position !== position) throw failed("its content is not an append");
  return { encoded, entry: decoded.entry, isSnapshot: decoded.snapshot, summary: decoded.summary };
}

function contextOf(
  { agentId, generation, position, id }: AppendPlace,
  keyId: string,
  blobs: readonly string[],
  gaps: readonly PrunedGap[],
): string {
  const stored = gaps.map(({ first, last, before, after }) => [first, last, before, after]);
  return JSON.stringify(["agent-persistence append", 1, agentId, generation, position, id, keyId, blobs, stored]);
}

/** Returns gaps with the checksums of the stored appends. @param stored - all stored appends, oldest first. */
export async function translatedGaps(
  gaps: readonly PrunedGap[],
  stored: AsyncIterable<Pick<Entry, "position" | "checksum" | "prev">>,
): Promise<readonly PrunedGap[]> {
  const checksums = new Map<number, string>();
  const needed = new Set(gaps.flatMap(({ first, last }) => [first - 1, last]));
  for await (const { position, checksum, prev } of stored) {
    if (needed.has(position - 1)) checksums.set(position - 1, prev);
    if (needed.has(position)) checksums.set(position, checksum);
  }
  return gaps.map(({ first, last }) => ({
    first,
    last,
    before: checksums.get(first - 1) ?? "",
    after: checksums.get(last) ?? "",
  }));
}
