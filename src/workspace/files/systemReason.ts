const reasons: Readonly<Record<string, string>> = {
  ENOENT: "is not there",
  ENOTDIR: "is not in a folder: a part of its path is a file",
  EISDIR: "is a folder",
  EACCES: "may not be used by this process",
  EPERM: "may not be used by this process",
  ENOSPC: "does not fit: the disk is full",
  EROFS: "is on a disk that cannot be written",
  ENAMETOOLONG: "has a name that is too long",
};

/** What a failed call of the file system means, to be read after the name of the file. */
export function systemReason(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return reasons[code] ?? (code === "" ? message : `the file system says ${code}`);
}
