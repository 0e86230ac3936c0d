/** Permissions with which everyone who may read a file may run it, as when git checks out an executable file, or nobody may. */
export function executableMode(mode: number, isExecutable: boolean): number {
  return isExecutable ? mode | ((mode & 0o444) >> 2) : mode & 0o666;
}
