import type { Sha256 } from "./Sha256.ts";

/** The part of `crypto.hash` that this library uses. */
export type HashFunction = (algorithm: "sha256", data: string | Uint8Array, encoding: "base64url" | "hex") => string;

/** Builds a {@link Sha256} from the hash function of Node. */
export function sha256With(hash: HashFunction): Sha256 {
  return { base64url: (data) => hash("sha256", data, "base64url"), hex: (data) => hash("sha256", data, "hex") };
}
