import type { StorageFailure } from "../errors/storage/StorageError.ts";

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

/** The system's code of an error, such as `ENOENT`; empty for an error without one. */
export function systemCode(error: unknown): string {
  const code: unknown = typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

/** What a caller can do about an error of the system. */
export function storageFailure(error: unknown): StorageFailure {
  return failures[systemCode(error)] ?? "io";
}
