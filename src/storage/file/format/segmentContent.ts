import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { type Claim, encodeControl, type Open } from "./controlLine.ts";

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
