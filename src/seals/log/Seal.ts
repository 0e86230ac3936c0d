import { z } from "zod";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { utf8 } from "../../internal/bytes.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** A range of positions, both inclusive. */
type PositionRange = readonly [first: number, last: number];

/** The signed part of a seal. Covers all appends since the previous seal, and the append that contains this seal. */
export interface SealContent {
  readonly generation: number;
  /** The covered positions, in order. The last position is that of the append with the seal. */
  readonly covers: readonly PositionRange[];
  /** The digest of each covered append. */
  readonly digests: readonly string[];
  /** The hash of the previous seal. Empty for the first seal of a log. */
  readonly prev: string;
  /** Whether the seal covers the whole log. If so, earlier seals do not count. */
  readonly whole: boolean;
  /** The next seal follows after at most this number of appends. */
  readonly every: number;
}

/** A seal, in the form in which the last record of an append contains it. */
export interface Seal extends SealContent {
  readonly signature: string;
}

const sealSchema: z.ZodType<Seal & { readonly v: 1 }> = z.object({
  v: z.literal(1),
  generation: z.number(),
  covers: z.array(z.tuple([z.number(), z.number()])).min(1),
  digests: z.array(z.string()),
  prev: z.string(),
  whole: z.boolean(),
  every: z.number(),
  signature: z.string(),
});

/** The kind of the record that contains the seal if an append has no other records. */
const carrierKind = "seal";

/** The position of the append that contains a seal. */
export function positionOf({ covers }: SealContent): number {
  return covers.at(-1)?.[1] ?? 0;
}

export function firstOf({ covers }: SealContent): number {
  return covers[0]?.[0] ?? 0;
}

/** Returns the bytes to sign. They contain the id of the agent, so a seal of another agent is invalid. */
export function signedBytes(agentId: string, content: SealContent): Uint8Array {
  return utf8(textOf(agentId, content));
}

/** Returns the hash by which the next seal names a seal. */
export function sealHash(sha256: Sha256, agentId: string, content: SealContent): string {
  return sha256.base64url(textOf(agentId, content));
}

function textOf(agentId: string, { generation, covers, digests, prev, whole, every }: SealContent): string {
  return JSON.stringify(["agent-persistence seal", 1, agentId, generation, covers, digests, prev, whole, every]);
}

/** Returns the digest of an append without its seal. The digest is the same before and after the append is stored. */
export function appendDigest(sha256: Sha256, generation: number, id: string, recordsText: string): string {
  return sha256.base64url(`${generation},${JSON.stringify(id)},${recordsText}`);
}

/** Adds a seal to the last record of an append. Readers of other storages ignore the field. */
export function withSeal(records: readonly LogRecord[], seal: Seal): readonly LogRecord[] {
  const stored = { v: 1, ...seal };
  const last = records.at(-1);
  if (!last) return [{ kind: carrierKind, seal: stored } as LogRecord];
  return [...records.slice(0, -1), { ...last, seal: stored } as LogRecord];
}

/** Separates the records of a stored append from its seal. A seal of an unknown form counts as missing. */
export function withoutSeal(records: readonly LogRecord[]): {
  readonly records: readonly LogRecord[];
  readonly seal: Seal | undefined;
} {
  const last = records.at(-1) as (LogRecord & { readonly seal?: unknown }) | undefined;
  if (last?.seal === undefined) return { records, seal: undefined };
  const { seal, ...record } = last;
  const rest = records.slice(0, -1);
  return {
    records: record.kind === carrierKind && rest.length === 0 ? rest : [...rest, record],
    seal: sealSchema.safeParse(seal).data,
  };
}

/** Returns ordered positions as ranges. */
export function positionRanges(positions: readonly number[]): readonly PositionRange[] {
  const ranges: [first: number, last: number][] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last?.[1] === position - 1) last[1] = position;
    else ranges.push([position, position]);
  }
  return ranges;
}

/** Returns the covered positions with their digests. A forged seal can have more positions than digests. */
export function coveredBy({ covers, digests }: SealContent): readonly (readonly [position: number, digest: string])[] {
  const covered: [number, string][] = [];
  for (const [first, last] of covers)
    for (let position = first; position <= last && covered.length < digests.length; position++)
      covered.push([position, digests[covered.length] as string]);
  return covered;
}

/** Signs the bytes of a seal, for example with Ed25519. */
export type Sign = (bytes: Uint8Array) => Uint8Array | PromiseLike<Uint8Array>;

/** Returns whether a signature of {@link Sign} belongs to the bytes. */
export type Verify = (bytes: Uint8Array, signature: Uint8Array) => boolean | PromiseLike<boolean>;

/** The newest seal of a log, in the form that `keepAt` keeps. */
export interface KeptSeal {
  readonly agentId: string;
  readonly generation: number;
  /** The position of the append with the seal. */
  readonly position: number;
  /** The SHA-256 of the seal, in base64url. */
  readonly hash: string;
  /** Set before the log is deleted. The log may then be empty, because a crash can prevent `dropped`. */
  readonly dropping?: true;
  /** Set if the log was deleted at this position. */
  readonly dropped?: true;
}

/**
 * A place for the newest seal of each log. A person who can change the storage must not be able to change this place.
 */
export interface SealKeeper {
  /** Returns the newest seal of a log, or `undefined` if none was written. */
  read(agentId: string): Promise<KeptSeal | undefined>;
  /**
   * Stores a seal in place of the earlier seal of the log. Called when the append with the seal is durable. `append`
   * waits for this call. Because a replaced owner may write late, ignore a seal if the stored seal has a higher
   * generation, or a higher position in the same generation.
   */
  write(agentId: string, seal: KeptSeal): Promise<void>;
  /** Lists the ids of all kept seals. If the method is missing, `verifySeals` does not find agents that were removed. */
  agentIds?(): AsyncIterable<string> | Iterable<string>;
}

const keptSchema = z
  .object({
    generation: z.number(),
    position: z.number(),
    hash: z.string(),
    dropping: z.boolean().nullish(),
    dropped: z.boolean().nullish(),
  })
  .nullish();

/** Returns the kept seal of a log. @throws InvalidInputError if the keeper returns another value */
export async function readKept(keepAt: SealKeeper | undefined, agentId: string): Promise<KeptSeal | undefined> {
  const kept = await keepAt?.read(agentId);
  checkSchema(keptSchema, kept, "result of keepAt.read()");
  return kept ?? undefined;
}
