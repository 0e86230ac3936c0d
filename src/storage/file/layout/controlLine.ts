import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { parsedJson } from "../../../internal/parsedJson.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
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
