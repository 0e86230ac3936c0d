/** A file as it was found. */
export interface FileVersion {
  /** Relative to the root, with "/". */
  readonly path: string;
  /** SHA-256 of the content, 64 hexadecimal digits; empty when there is no such file. */
  readonly hash: string;
  /** When the file was last modified, ISO 8601, for people: only the content decides. Empty when there is no such file. */
  readonly mtime: string;
}

/** What a commit came to. */
export type CommitResult =
  | {
      readonly success: true;
      /** The file as it is now; it counts as acquired. */
      readonly version: FileVersion;
    }
  | {
      /** Somebody else has changed the file. Nothing was written. */
      readonly success: false;
      readonly reason: "CONFLICT";
      /** What was acquired. */
      readonly originalVersion: FileVersion;
      /** The hash of `currentVersion`. */
      readonly currentHash: string;
      /** What is there now. */
      readonly currentVersion: FileVersion;
    };
