import type { Sha256 } from "./Sha256.ts";

/** The part of Node's one-shot hash function that is used here. */
export type HashFunction = (algorithm: "sha256", data: string | Uint8Array, encoding: "base64url" | "hex") => string;

/** SHA-256 by Node's hash function. */
export function sha256With(hash: HashFunction): Sha256 {
  return { base64url: (data) => hash("sha256", data, "base64url"), hex: (data) => hash("sha256", data, "hex") };
}
