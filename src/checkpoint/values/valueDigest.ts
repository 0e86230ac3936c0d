import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { canonicalText } from "./isSameValue.ts";

/** Enough against accidents, and short in the log. */
const digestLength = 11;

/** Tells values apart that are not equal when restored; the order of keys does not matter. */
export function valueDigest(value: unknown, sha256: Sha256): string {
  return sha256.base64url(canonicalText(value) ?? "").slice(0, digestLength);
}
