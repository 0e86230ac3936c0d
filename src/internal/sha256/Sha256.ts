/** SHA-256, at once. Injected: Node's own where there is Node, JavaScript elsewhere. Strings are hashed as UTF-8. */
export interface Sha256 {
  /** 43 characters. */
  base64url(data: string | Uint8Array): string;
  /** 64 lower-case characters; safe as a file name on every file system. */
  hex(data: string | Uint8Array): string;
}
