const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is not in a folder: a part of its path is a file",
  EISDIR: "is a folder",
  EACCES: "is not accessible to this process",
  EPERM: "is not accessible to this process",
  ENOSPC: "does not fit: the disk is full",
  EROFS: "is on a read-only disk",
  ENAMETOOLONG: "has a name that is too long",
};

/** The meaning of a file system error; follows the path in messages. */
export function systemReason(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return reasons[code] ?? (code === "" ? message : `the file system says ${code}`);
}
