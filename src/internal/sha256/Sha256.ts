/** A synchronous SHA-256 function. Strings are hashed as UTF-8. */
export interface Sha256 {
  /** Returns 43 characters. */
  base64url(data: string | Uint8Array): string;
  /** Returns 64 lower-case characters, which are a safe file name on every file system. */
  hex(data: string | Uint8Array): string;
}
