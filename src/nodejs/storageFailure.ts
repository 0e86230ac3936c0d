import { StorageError, type StorageFailure } from "../errors/storageErrors.ts";
import { constants } from "node:os";

const failures: Readonly<Record<string, StorageFailure>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  EACCES: "permission",
  EPERM: "permission",
  EROFS: "permission",
  ELOOP: "permission",
  EMFILE: "too_many_files",
  ENFILE: "too_many_files",
  ENOENT: "unavailable",
  ENOTDIR: "unavailable",
  ESTALE: "unavailable",
  ETIMEDOUT: "unavailable",
  ENODEV: "unavailable",
  ENOTCONN: "unavailable",
};

/** Node names only errors that libuv knows. For example, `EDQUOT` and `ESTALE` have only a number. */
const codes: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.errno).map(([code, number]) => [-number, code]),
);

export function systemCode(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown };
  if (typeof code !== "string") return "";
  return (code.startsWith("Unknown system error") ? codes.get(Number(errno)) : undefined) ?? code;
}

/** Classifies a system error by the possible reactions of a caller. */
export function storageFailure(error: unknown): StorageFailure {
  return failures[systemCode(error)] ?? "io";
}

/** Returns the error for a failed call of the file system. */
export function diskError(operation: string, path: string, cause: unknown): StorageError {
  return cause instanceof StorageError ? cause : new StorageError(storageFailure(cause), operation, path, { cause });
}
