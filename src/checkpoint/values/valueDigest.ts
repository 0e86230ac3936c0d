import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { canonicalText } from "./isSameValue.ts";

/** Long enough to prevent accidental collisions, and short in the log. */
const digestLength = 11;

/** Returns a digest that differs for values that are unequal after storage. Key order is ignored. */
export function valueDigest(value: unknown, sha256: Sha256): string {
  return sha256.base64url(canonicalText(value) ?? "").slice(0, digestLength);
}
