/** The state of a file. `hash` refers to its content. */
export type FileStateView =
  | { readonly kind: "file"; readonly hash: string; readonly bytes: number; readonly mode: number }
  | { readonly kind: "link"; readonly target: string };

/** A change of a file. */
export interface FileChangeView {
  /** Relative to the root of the workspace. Untrusted, because it comes from a log. */
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  /** The earlier state. Omitted if the file was created. */
  readonly before?: FileStateView;
  /** The later state. Omitted if the file was deleted. */
  readonly after?: FileStateView;
}

/** A file change with its location in the log. */
export interface NotedFileChange extends FileChangeView {
  /** The call that made the change. Omitted if a node made it. */
  readonly toolCallId?: string;
  readonly position: number;
  readonly lane: number;
  /** Whether a rollback reverted the change. */
  readonly isReverted: boolean;
}
