import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ChainLink } from "./EntryChain.ts";
import { generationOfAppend, verifiedLinkOf } from "./entryCodec.ts";

export interface AppendLink extends ChainLink {
  readonly prev: string;
  readonly generation: number;
}

const known = new WeakMap<Uint8Array, AppendLink>();

/**
 * Remembers that the checksum of an encoded append is valid, so that it is not hashed again. The bytes must not change afterwards.
 */
export function noteVerified(encoded: Uint8Array, { position, checksum, prev, generation }: AppendLink): void {
  known.set(encoded, { position, checksum, prev, generation });
}

export function appendLinkOf(encoded: Uint8Array, sha256: Sha256): AppendLink | undefined {
  const noted = known.get(encoded);
  if (noted) return noted;
  const link = verifiedLinkOf(encoded, sha256);
  const generation = link && generationOfAppend(encoded, sha256);
  return link && generation !== undefined ? { ...link, generation } : undefined;
}
