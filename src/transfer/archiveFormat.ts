import type { Sha256 } from "../internal/sha256/Sha256.ts";

/** The first line of an archive. */
export interface ArchiveHeader {
  /** The version of the archive's own format. */
  readonly archive: 1;
  /** The format of the lines. */
  readonly format: number;
  readonly library: "agent-persistence";
  readonly agentId: string;
  /** The position of the last line. */
  readonly position: number;
  /** The generation of the last line. */
  readonly generation: number;
  /** The version of the checkpoint that the agent begins at. Absent: it goes on where it is. */
  readonly checkpoint?: number;
  /** Of an agent that is moved: which move. Absent: the archive is a copy. */
  readonly move?: string;
}

/** The last line of an archive. */
export interface ArchiveEnd {
  readonly lines: number;
  readonly blobs: number;
  /** The hash of all before it, base64url: each part is hashed with the hash of all before it, by the hash that it has. */
  readonly sha256: string;
}

/** A part of an archive: text on a line of its own, and bytes after it. */
export type ArchivePart =
  | { readonly kind: "line"; readonly bytes: Uint8Array }
  | { readonly kind: "blob"; readonly bytes: Uint8Array; readonly reference: string };

/** The largest part that an import takes, in bytes, unless its caller says otherwise. */
export const defaultMaxPartBytes = 16 * 1024 * 1024;
/** No line of text between the parts is longer. */
export const longestHeadBytes = 16 * 1024;

const encoder = new TextEncoder();
const lineBreak = encoder.encode("\n");

/** The text before the bytes of a part. */
export function headOfPart(part: ArchivePart): string {
  return part.kind === "line" ? `line ${part.bytes.length}\n` : `blob ${part.bytes.length} ${part.reference}\n`;
}

/** A part as it is written, in pieces. */
export function encodePart(part: ArchivePart): readonly Uint8Array[] {
  return [encoder.encode(headOfPart(part)), part.bytes, lineBreak];
}

/** The text of the first or the last line. */
export function textOfFacts(facts: ArchiveHeader | ArchiveEnd): string {
  return `${JSON.stringify(facts)}\n`;
}

/** The first bytes of a line, which have its checksum. */
const startBytes = 64;
const decoder = new TextDecoder();

function startOfLine(line: Uint8Array): string {
  return decoder.decode(line.subarray(0, startBytes));
}

/** The hash of an archive as far as it was written or read. */
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
   * The head of a blob has the SHA-256 of its bytes, and a line begins with that of all its others. Whoever stores or reads
   * them checks these, so no byte is hashed twice.
   */
  add(part: ArchivePart): void {
    this.addText(`${headOfPart(part)}${part.kind === "line" ? startOfLine(part.bytes) : ""}`);
  }
}
