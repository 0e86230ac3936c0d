import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ChainLink } from "./EntryChain.ts";
import {
  decodeEntry,
  decodeVerifiedEntry,
  type DecodedEntry,
  generationOfAppend,
  verifiedLinkOf,
} from "./entryCodec.ts";

export interface AppendLink extends ChainLink {
  readonly prev: string;
  readonly generation: number;
}

type VerifiedLink = Omit<AppendLink, "generation"> & { readonly generation?: number | undefined };

const known = new WeakMap<Uint8Array, VerifiedLink>();

/** Remembers that the checksum of an append is valid, so that it is not hashed again. Do not change the bytes. */
export function noteVerified(encoded: Uint8Array, { position, checksum, prev, generation }: VerifiedLink): void {
  known.set(encoded, { position, checksum, prev, generation });
}

/** Returns the link of an append whose checksum is known to be valid. */
export function knownLinkOf(encoded: Uint8Array): VerifiedLink | undefined {
  return known.get(encoded);
}

export function appendLinkOf(encoded: Uint8Array, sha256: Sha256): AppendLink | undefined {
  const link: VerifiedLink | undefined = known.get(encoded) ?? verifiedLinkOf(encoded, sha256);
  const generation = link && (link.generation ?? generationOfAppend(encoded, sha256));
  return link && generation !== undefined ? { ...link, generation } : undefined;
}

/** Like `decodeEntry`, but hashes the bytes only if their checksum is not known to be valid. */
export function decodeAppend(encoded: Uint8Array, sha256: Sha256): DecodedEntry {
  const link = known.get(encoded);
  const decoded = link === undefined ? decodeEntry(encoded, sha256) : decodeVerifiedEntry(encoded);
  if (decoded.ok && link?.generation === undefined) noteVerified(encoded, decoded.entry);
  return decoded;
}
