import { z } from "zod";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** The first line of an archive. */
export interface ArchiveHeader {
  /** The version of the archive format. */
  readonly archive: 1;
  /** The format version of the log lines. */
  readonly format: number;
  readonly library: "agent-persistence";
  readonly agentId: string;
  readonly position: number;
  readonly generation: number;
  /** The checksum of the last append. Only archives of backups have it. */
  readonly checksum?: string;
  /** The version of the checkpoint at which the imported agent starts. `undefined` for the head. */
  readonly checkpoint?: number;
  /** The id of the move. `undefined` if the archive is a copy. */
  readonly move?: string;
  /** The kind of the log. `undefined` for an agent. */
  readonly shape?: string;
}

/** The fields that the first line of an archive has with and without encryption. */
export const headerShape = {
  agentId: z.string(),
  position: z.int().positive(),
  generation: z.int().positive(),
  checksum: z.string().optional(),
  shape: z.string().optional(),
};

/** The last line of an archive. */
export interface ArchiveEnd {
  readonly lines: number;
  readonly blobs: number;
  /**
   * The hash of all preceding data in base64url. It covers the heads of all parts, and each head contains the hash of
   * its part.
   */
  readonly sha256: string;
}

/** A part of an archive: a head on one line, followed by bytes. */
export type ArchivePart =
  | { readonly kind: "line"; readonly bytes: Uint8Array }
  | { readonly kind: "blob"; readonly bytes: Uint8Array; readonly reference: string };

/** The default limit for the size of a part in an import, in bytes. */
export const defaultMaxPartBytes = 16 * 1024 * 1024;

/** A line may contain at most `maxPartBytes / bytesOfItem` values and keys. */
export const bytesOfItem = 32;
export const longestHeadBytes = 16 * 1024;

const encoder = new TextEncoder();
const lineBreak = encoder.encode("\n");

function headOfPart(part: ArchivePart): string {
  return part.kind === "line" ? `line ${part.bytes.length}\n` : `blob ${part.bytes.length} ${part.reference}\n`;
}

export function encodePart(part: ArchivePart): readonly Uint8Array[] {
  return [encoder.encode(headOfPart(part)), part.bytes, lineBreak];
}

export function textOfFacts(facts: ArchiveHeader | ArchiveEnd): string {
  return `${JSON.stringify(facts)}\n`;
}

/** The first bytes of a log line, which contain its checksum. */
const startBytes = 64;
const decoder = new TextDecoder();

export class ArchiveHash {
  readonly #sha256: Sha256;
  #hash = "";

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  get value(): string {
    return this.#hash;
  }

  addText(text: string): void {
    this.#hash = this.#sha256.base64url(`${this.#hash} ${text}`);
  }

  /**
   * Adds a part. The head of a blob contains the SHA-256 of the blob, and a log line starts with its checksum. Readers
   * and writers verify these hashes, so the other bytes are not hashed again.
   */
  add(part: ArchivePart): void {
    this.addText(
      `${headOfPart(part)}${part.kind === "line" ? decoder.decode(part.bytes.subarray(0, startBytes)) : ""}`,
    );
  }
}
