/** What a file is. `hash` refers to its content. */
export type FileStateView =
  | { readonly kind: "file"; readonly hash: string; readonly bytes: number; readonly mode: number }
  | { readonly kind: "link"; readonly target: string };

/** A change of a file. */
export interface FileChangeView {
  /** Relative to the root of the workspace. It comes from a log: it may be any text. */
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  /** Absent: there was no file. */
  readonly before?: FileStateView;
  /** Absent: there is no file. */
  readonly after?: FileStateView;
}

/** A change of a file, and where in the log it was noted. */
export interface NotedFileChange extends FileChangeView {
  /** The call that made it. Absent: code of a node did. */
  readonly toolCallId?: string;
  readonly position: number;
  readonly lane: number;
  /** A rollback has taken it back. */
  readonly isReverted: boolean;
}
