/** Returns a mode in which all or none of the users who may read a file may execute it, as after a git checkout. */
export function executableMode(mode: number, isExecutable: boolean): number {
  return isExecutable ? mode | ((mode & 0o444) >> 2) : mode & 0o666;
}
