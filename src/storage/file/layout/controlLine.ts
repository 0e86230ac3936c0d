import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { ProcessFacts } from "../../../node/ProcessIdentity.ts";
import { z } from "zod";

/** The first line of a segment: whose it is. */
export interface Claim extends ProcessFacts {
  /** The format of the whole segment. */
  readonly format: number;
  readonly agentId: string;
  readonly generation: number;
  readonly nonce: string;
  /** How long it may show no sign of life, by its own configuration. Absent: an earlier version wrote it. */
  readonly leaseMs?: number | undefined;
  /** The generation that this one follows where numbers between them are left out. Absent: the one before. */
  readonly after?: number | undefined;
}

/** What a process saw of an owner. It is in a file of its own, beside the signs of life. */
export interface Sighting {
  readonly seen: string;
  /** By `sinceBootMs` of this boot and time namespace. */
  readonly atMs: number;
  readonly bootId: string;
  readonly timeNamespace: string;
}

/** The line that makes a segment count. Entry lines before it were carried over from older segments. */
export interface Open {
  /** The position before the first append: higher than 0 after the agent was deleted. */
  readonly from: number;
  /** The older segments that belong to the log, oldest first, each with how many of its bytes count. */
  readonly base: readonly (readonly [generation: number, length: number])[];
  /** The checksum of all lines between the claim and this one. */
  readonly carried: string;
}

/**
 * The lines that are not entries, by their key. `closed` gives the log back; `dropped` ends the agent; `seen` is in no
 * segment.
 */
export interface ControlLines {
  readonly claim: Claim;
  readonly open: Open;
  /** Where the log ends. Empty for an owner that opened nothing, and from earlier versions. */
  readonly closed: Partial<ChainLink>;
  readonly dropped: { readonly position: number };
  readonly seen: Sighting;
}

const count = z.int().nonnegative();
const generations = z
  .array(z.tuple([z.int().positive(), count]))
  .refine((base) => base.every(([generation], at) => generation > (base[at - 1]?.[0] ?? 0)));

/** A process that can write the file can also write a checksum that fits. */
const contents = {
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
} as const satisfies Readonly<Record<keyof ControlLines, z.ZodType>>;

const tail = /,"checksum":"([A-Za-z0-9_-]{43})"\}$/;

/** `{"<kind>":<content>,"checksum":"…"}` and a line break; the checksum covers all before its own comma. */
export function encodeControl<Kind extends keyof ControlLines>(
  kind: Kind,
  content: ControlLines[Kind],
  sha256: Sha256,
): string {
  const covered = `{"${kind}":${JSON.stringify(content)}`;
  return `${covered},"checksum":"${sha256.base64url(covered)}"}\n`;
}

/** The content of a control line of this kind, without its line break; `undefined` for anything else. */
export function decodeControl<Kind extends keyof ControlLines>(
  kind: Kind,
  line: Buffer,
  sha256: Sha256,
): ControlLines[Kind] | undefined {
  const start = `{"${kind}":`;
  // Most lines are entries, which may be large.
  if (line.toString("latin1", 0, start.length) !== start) return undefined;
  const text = line.toString();
  const checksum = tail.exec(text.slice(-60))?.[1];
  if (checksum === undefined) return undefined;
  const tailLength = checksum.length + `,"checksum":""}`.length;
  if (sha256.base64url(line.subarray(0, line.length - tailLength)) !== checksum) return undefined;
  try {
    const content = (JSON.parse(text) as Readonly<Record<string, unknown>>)[kind];
    return contents[kind].safeParse(content).data as ControlLines[Kind] | undefined;
  } catch {
    return undefined;
  }
}

/** Whether a line ends the use of a segment by its owner. */
export function isEnding(line: Buffer, sha256: Sha256): boolean {
  return (["closed", "dropped"] as const).some((kind) => decodeControl(kind, line, sha256) !== undefined);
}

/** Lines carried over and the `open` that makes them count, to be written after a claim. */
export function openingBytes(lines: readonly Uint8Array[], open: Omit<Open, "carried">, sha256: Sha256): Buffer {
  const carried = Buffer.concat(lines);
  return Buffer.concat([
    carried,
    Buffer.from(encodeControl("open", { ...open, carried: sha256.base64url(carried) }, sha256)),
  ]);
}

/** A segment that replaces all older ones: what remains of the log, and from where. */
export function wholeSegment(claim: Claim, lines: readonly Uint8Array[], from: number, sha256: Sha256): Buffer {
  return Buffer.concat([
    Buffer.from(encodeControl("claim", claim, sha256)),
    openingBytes(lines, { from, base: [] }, sha256),
  ]);
}

/** A segment that holds nothing of the log any more, and says so. */
export function droppedSegment(claim: Claim, end: ChainLink, sha256: Sha256): Buffer {
  const dropped = Buffer.from(encodeControl("dropped", { position: end.position }, sha256));
  return Buffer.concat([wholeSegment(claim, [], end.position, sha256), dropped]);
}
