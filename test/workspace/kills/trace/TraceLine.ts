/** Files by path: permissions and content, or the target of a link. Folders end with "/". */
export type Tree = Readonly<Record<string, string>>;

/** What a process does. */
export type Place = "capture" | "commit" | "tool" | "restore" | "rollback" | "run";

/** One line of the trace of a life. All processes append to one trace, so that the order of its lines is that of time. */
export type TraceLine =
  | { readonly kind: "process" }
  | { readonly kind: "killed"; readonly place: Place }
  | { readonly kind: "enters"; readonly place: Place }
  /** A person replaces a file by a content, or deletes it (`null`). */
  | { readonly kind: "saving"; readonly path: string; readonly content: string | null }
  | { readonly kind: "saved"; readonly path: string; readonly content: string | null }
  /** The agent is about to change files: in a file tool, or in a captured command. */
  | { readonly kind: "acts"; readonly by: "tool" | "command"; readonly paths: readonly string[] }
  | { readonly kind: "capturing" }
  | { readonly kind: "captured" }
  | { readonly kind: "committing"; readonly path: string; readonly tag: string }
  | { readonly kind: "committed"; readonly path: string; readonly tag: string }
  /** The library writes a new content beside a file, looks at the file, and replaces or removes it. */
  | { readonly kind: "stages"; readonly name: string }
  | { readonly kind: "looks"; readonly path: string }
  | { readonly kind: "replaces"; readonly path: string; readonly staged: boolean }
  | { readonly kind: "replaced"; readonly path: string; readonly staged: boolean }
  /** Somebody begins to look at all files; what was seen follows. */
  | { readonly kind: "seeing" }
  | { readonly kind: "checkpoint"; readonly id: string; readonly files: Tree }
  | { readonly kind: "found"; readonly files: Tree }
  | { readonly kind: "asked"; readonly path: string; readonly answer: string }
  | { readonly kind: "rollsBack"; readonly to: string }
  | { readonly kind: "refused"; readonly code: string }
  /** `notRestored`: what the report says of. */
  | { readonly kind: "rolledBack"; readonly to: string; readonly notRestored: readonly string[] };
