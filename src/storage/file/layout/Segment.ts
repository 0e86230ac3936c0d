import { formatVersion } from "../../../checkpoint/records/Entry.ts";
import { CorruptLogError, UnsupportedFormatError } from "../../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { parsedJson } from "../../../internal/parsedJson.ts";
import type { ProcessFacts } from "../../../nodejs/ProcessIdentity.ts";
import { z } from "zod";

/** The first line of a segment, which identifies its owner. */
export interface Claim extends ProcessFacts {
  readonly format: number;
  readonly agentId: string;
  readonly generation: number;
  readonly nonce: string;
  /** The lease of the owner in milliseconds. `undefined` in segments of earlier versions. */
  readonly leaseMs?: number | undefined;
  /**
   * The previous generation, if numbers in between are skipped. Defaults to the generation of this segment minus one.
   */
  readonly after?: number | undefined;
}

/** An observation of another owner, in a separate file next to the lease files. */
export interface Sighting {
  readonly seen: string;
  /** The time of the observation in milliseconds of `sinceBootMs`, valid for this boot and time namespace. */
  readonly atMs: number;
  readonly bootId: string;
  readonly timeNamespace: string;
}

/** The line that makes a segment valid. Entry lines before it were copied from older segments. */
export interface Open {
  /** The position before the first append. Above 0 after the agent was deleted. */
  readonly from: number;
  /** The older segments that belong to the log, oldest first, each with its valid length in bytes. */
  readonly base: readonly (readonly [generation: number, length: number])[];
  readonly carried: string;
}

/** The non-entry lines by key. `closed` releases the log, `dropped` deletes the agent. `seen` is no line. */
export interface ControlLines {
  readonly claim: Claim;
  readonly open: Open;
  /** The end of the log. Empty if the owner ended before it had opened the log, and in logs of earlier versions. */
  readonly closed: Partial<ChainLink>;
  readonly dropped: { readonly position: number };
  readonly seen: Sighting;
}

/** Validates the fields, because a process that can write the file can also forge the checksum. */
const contents = z.lazy(() => {
  const count = z.int().nonnegative();
  const generations = z
    .array(z.tuple([z.int().positive(), count]))
    .refine((base) => base.every(([generation], at) => generation > (base[at - 1]?.[0] ?? 0)));
  return z
    .object({
      claim: z.object({
        format: count,
        agentId: z.string(),
        generation: z.int().positive(),
        host: z.string(),
        bootId: z.string(),
        pidNamespace: z.string(),
        processId: count,
        processStart: z.string(),
        nonce: z.string(),
        timeNamespace: z.string().optional(),
        leaseMs: z.number().positive().optional(),
        after: z.int().positive().optional(),
      }),
      open: z.object({ from: count, base: generations, carried: z.string() }),
      closed: z.object({ position: count.optional(), checksum: z.string().optional() }),
      dropped: z.object({ position: count }),
      seen: z.object({ seen: z.string(), atMs: z.number(), bootId: z.string(), timeNamespace: z.string() }),
    })
    .partial();
});

const tail = /,"checksum":"([A-Za-z0-9_-]{43})"\}$/;

/** Returns `{"<kind>":<content>,"checksum":"…"}` and a line break. The checksum covers all bytes before the comma. */
export function encodeControl<Kind extends keyof ControlLines>(
  kind: Kind,
  content: ControlLines[Kind],
  sha256: Sha256,
): string {
  const covered = `{"${kind}":${JSON.stringify(content)}`;
  return `${covered},"checksum":"${sha256.base64url(covered)}"}\n`;
}

/** Returns the content of a control line of this kind, given without line break. `undefined` for other lines. */
export function decodeControl<Kind extends keyof ControlLines>(
  kind: Kind,
  line: Buffer,
  sha256: Sha256,
): ControlLines[Kind] | undefined {
  const start = `{"${kind}":`;
  // Skips entries early, because they may be large.
  if (line.toString("latin1", 0, start.length) !== start) return undefined;
  const text = line.toString();
  const checksum = tail.exec(text.slice(-60))?.[1];
  if (checksum === undefined) return undefined;
  const tailLength = checksum.length + `,"checksum":""}`.length;
  if (sha256.base64url(line.subarray(0, line.length - tailLength)) !== checksum) return undefined;
  const content = (parsedJson(text) as Readonly<Record<string, unknown>> | undefined)?.[kind];
  return contents.safeParse({ [kind]: content }).data?.[kind] as ControlLines[Kind] | undefined;
}

/** Whether a line ends an owner's use of a segment. */
export function isEnding(line: Buffer, sha256: Sha256): boolean {
  return (["closed", "dropped"] as const).some((kind) => decodeControl(kind, line, sha256) !== undefined);
}

/** Returns the bytes to write after a claim: the copied lines, and the `open` line that makes them valid. */
export function openingBytes(lines: readonly Uint8Array[], open: Omit<Open, "carried">, sha256: Sha256): Buffer {
  const carried = Buffer.concat(lines);
  return Buffer.concat([
    carried,
    Buffer.from(encodeControl("open", { ...open, carried: sha256.base64url(carried) }, sha256)),
  ]);
}

export function wholeSegment(claim: Claim, lines: readonly Uint8Array[], from: number, sha256: Sha256): Buffer {
  return Buffer.concat([
    Buffer.from(encodeControl("claim", claim, sha256)),
    openingBytes(lines, { from, base: [] }, sha256),
  ]);
}

export function droppedSegment(claim: Claim, end: ChainLink, sha256: Sha256): Buffer {
  const dropped = Buffer.from(encodeControl("dropped", { position: end.position }, sha256));
  return Buffer.concat([wholeSegment(claim, [], end.position, sha256), dropped]);
}

export interface LineRange {
  readonly start: number;
  readonly end: number;
}

export interface Segment {
  readonly generation: number;
  readonly path: string;
  readonly bytes: Buffer;
  /** `undefined` only if a file system without `link` allowed an incomplete claim. */
  readonly claim: Claim | undefined;
  /** `undefined` for an abandoned segment, whose owner ended before it had opened the log. */
  readonly open: Open | undefined;
  /** The content of an `open` line that the lines before it do not match, and the start of this line. */
  readonly refuted?: { readonly open: Open; readonly at: number } | undefined;
  /** The lines that were copied from older segments. */
  readonly carried: LineRange;
  readonly appended: LineRange;
  /** Whether the first appended lines were not loaded. */
  readonly cut?: true;
}

export const lineBreak = 10;

export function lineNumberAt(bytes: Buffer, at: number): number {
  let line = 1;
  for (let next = bytes.indexOf(lineBreak); next >= 0 && next < at; next = bytes.indexOf(lineBreak, next + 1)) line++;
  return line;
}

/** Yields the lines in a range, without line breaks. The last line may be incomplete. */
export function* linesIn(bytes: Buffer, { start, end }: LineRange): Generator<LineRange & { readonly whole: boolean }> {
  for (let at = start; at < end;) {
    const found = bytes.indexOf(lineBreak, at);
    const whole = found >= 0 && found < end;
    const lineEnd = whole ? found : end;
    yield { start: at, end: lineEnd, whole };
    at = lineEnd + 1;
  }
}

export function* linesBackwards(
  bytes: Buffer,
  { start, end }: LineRange,
): Generator<LineRange & { readonly whole: boolean }> {
  for (let at = end; at > start;) {
    const whole = bytes[at - 1] === lineBreak;
    const lineEnd = whole ? at - 1 : at;
    const before = lineEnd > start ? bytes.lastIndexOf(lineBreak, lineEnd - 1) : -1;
    const lineStart = before < start ? start : before + 1;
    yield { start: lineStart, end: lineEnd, whole };
    at = lineStart;
  }
}

/** The start of an `open` line, including the preceding line break. */
export const openMark = Buffer.from('\n{"open":');
const statedFormat = /^\{"claim":\{"format":([0-9]{1,9})[,}]/;

/** Locates the claim, the copied lines, `open` and the appended lines. Claims are published complete. */
export function parseSegment(
  agentId: string,
  generation: number,
  path: string,
  bytes: Buffer,
  sha256: Sha256,
): Segment {
  const claimEnd = bytes.indexOf(lineBreak);
  const empty: LineRange = { start: bytes.length, end: bytes.length };
  if (claimEnd < 0)
    return { generation, path, bytes, claim: undefined, open: undefined, carried: empty, appended: empty };
  const claim = parseClaim(agentId, generation, path, bytes.subarray(0, claimEnd), sha256);
  const start = claimEnd + 1;
  const openAt = bytes.indexOf(openMark, claimEnd) + 1;
  const openEnd = openAt === 0 ? -1 : bytes.indexOf(lineBreak, openAt);
  const carried = { start, end: openAt };
  const open = openEnd < 0 ? undefined : decodeControl("open", bytes.subarray(openAt, openEnd), sha256);
  // The copied lines are checked because `open` may be durable although they are not.
  if (open?.carried === sha256.base64url(bytes.subarray(start, openAt)))
    return { generation, path, bytes, claim, open, carried, appended: { start: openEnd + 1, end: bytes.length } };
  const refuted = open && { open, at: openAt };
  const rest = { start, end: bytes.length };
  return { generation, path, bytes, claim, open: undefined, refuted, carried: rest, appended: empty };
}

/** Parses the claim in the first line of a segment and checks the agent and the generation. */
export function parseClaim(agentId: string, generation: number, path: string, line: Buffer, sha256: Sha256): Claim {
  const format = Number(statedFormat.exec(line.toString("latin1", 0, 64))?.[1] ?? formatVersion);
  if (format > formatVersion) throw new UnsupportedFormatError(path, format, formatVersion);
  const claim = decodeControl("claim", line, sha256);
  if (claim === undefined)
    throw new CorruptLogError(agentId, { file: path, line: 1 }, "the claim of its owner is not readable");
  if (claim.agentId === agentId && claim.generation === generation) return claim;
  const found = `it belongs to generation ${claim.generation} of agent ${JSON.stringify(claim.agentId)}`;
  throw new CorruptLogError(agentId, { file: path, line: 1 }, found);
}
