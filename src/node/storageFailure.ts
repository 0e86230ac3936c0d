import type { StorageFailure } from "../errors/storage/StorageError.ts";
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

/** Node names only errors that its own library knows: `EDQUOT` and `ESTALE`, for two, have a number alone. */
const codes: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.errno).map(([code, number]) => [-number, code]),
);

/** The system's code of an error, such as `ENOENT`; empty for an error without one. */
export function systemCode(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown };
  if (typeof code !== "string") return "";
  return (code.startsWith("Unknown system error") ? codes.get(Number(errno)) : undefined) ?? code;
}

/** What a caller can do about an error of the system. */
export function storageFailure(error: unknown): StorageFailure {
  return failures[systemCode(error)] ?? "io";
}
