import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ChainLink } from "./EntryChain.ts";
import { generationOfLine, verifiedLinkOf } from "./entryCodec.ts";

export interface LinePlace extends ChainLink {
  readonly prev: string;
  readonly generation: number;
}

const known = new WeakMap<Uint8Array, LinePlace>();

/**
 * Remembers that the checksum of a line is valid, so that it is not hashed again. The bytes must not change afterwards.
 */
export function noteVerified(line: Uint8Array, { position, checksum, prev, generation }: LinePlace): void {
  known.set(line, { position, checksum, prev, generation });
}

export function verifiedPlaceOf(line: Uint8Array, sha256: Sha256): LinePlace | undefined {
  const noted = known.get(line);
  if (noted) return noted;
  const link = verifiedLinkOf(line, sha256);
  const generation = link && generationOfLine(line, sha256);
  return link && generation !== undefined ? { ...link, generation } : undefined;
}
