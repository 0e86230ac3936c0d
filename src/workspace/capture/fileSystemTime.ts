import { closeSync, constants, fstatSync, openSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `O_TMPFILE` of Linux: an invisible file without a name that disappears when it is closed. */
const unnamed = process.platform === "linux" ? 0o20200000 | constants.O_RDWR : undefined;

/** Returns the time that the file system would give to a new file, or 0 if unknown. This time lags behind the clock. */
export function fileSystemTime(folder: string): number {
  try {
    return timeOfUnnamed(folder) ?? timeOfTemporary(folder);
  } catch {
    return 0;
  }
}

function timeOfUnnamed(folder: string): number | undefined {
  if (unnamed === undefined) return undefined;
  try {
    const descriptor = openSync(folder, unnamed, 0o600);
    try {
      return fstatSync(descriptor).mtimeMs;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Some file systems do not support unnamed files.
    return undefined;
  }
}

/** Uses only the temporary directory, and only on the same file system. */
function timeOfTemporary(folder: string): number {
  const directory = tmpdir();
  if (statSync(folder).dev !== statSync(directory).dev) return 0;
  const path = join(directory, `.agent-time-${crypto.randomUUID()}`);
  const descriptor = openSync(path, "wx");
  try {
    return fstatSync(descriptor).mtimeMs;
  } finally {
    closeSync(descriptor);
    unlinkSync(path);
  }
}
