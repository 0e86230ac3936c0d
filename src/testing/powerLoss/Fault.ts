/**
 * How a call goes wrong. An error code: it rejects; a write has then taken half of its bytes, and a sync can be tried
 * again. `short write`: a write takes half of its bytes and says so. `lying sync`: a sync reports `EIO`, what it was to
 * make durable never will be, and later syncs report success.
 */
export type FaultKind = "EIO" | "ENOSPC" | "EMFILE" | "EACCES" | "short write" | "lying sync";

/** A fault to inject. */
export interface Fault {
  readonly kind: FaultKind;
  /** The number of the call, from 1. Kinds of one operation alone pass over calls of others. */
  readonly call: number;
  /** True: every later call fails too. Default: this one alone. */
  readonly fromThenOn?: boolean;
}

/** The calls of a `FileSystem` and of its open files. */
export type FileSystemOperation =
  | "create"
  | "write"
  | "fdatasync"
  | "fsync"
  | "close"
  | "readFile"
  | "stat"
  | "link"
  | "rename"
  | "unlink"
  | "readdir"
  | "mkdir"
  | "fsyncDir";

/** A call that was made. */
export interface FileSystemCall {
  readonly operation: FileSystemOperation;
  readonly path: string;
}

/** Whether a fault strikes a call. */
export function strikes(
  { kind, call, fromThenOn = false }: Fault,
  number: number,
  operation: FileSystemOperation,
): boolean {
  if (number < call || (number > call && !fromThenOn)) return false;
  if (kind === "short write") return operation === "write";
  return kind !== "lying sync" || operation === "fdatasync" || operation === "fsync";
}
