/** A synchronous SHA-256 function. Strings are hashed as UTF-8. */
export interface Sha256 {
  /** Returns 43 characters. */
  base64url(data: string | Uint8Array): string;
  /** Returns 64 lower-case characters, which are a safe file name on every file system. */
  hex(data: string | Uint8Array): string;
}

/** The part of `crypto.hash` that this library uses. */
export type HashFunction = (algorithm: "sha256", data: string | Uint8Array, encoding: "base64url" | "hex") => string;

/** Builds a {@link Sha256} from the hash function of Node. */
export function sha256With(hash: HashFunction): Sha256 {
  return { base64url: (data) => hash("sha256", data, "base64url"), hex: (data) => hash("sha256", data, "hex") };
}
