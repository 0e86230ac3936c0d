import { closeSync, constants, fstatSync, openSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomId } from "../../internal/randomId.ts";

/** `O_TMPFILE` of Linux: a file without a name, which nobody sees and which is gone when it is closed. */
const unnamed = process.platform === "linux" ? 0o20200000 | constants.O_RDWR : undefined;

/**
 * The time that the file system of a folder would give to a file that is made now, in milliseconds since 1970. It lags behind
 * the clock, and may be that of another machine. 0: it cannot be told.
 */
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
    // Not every file system can do this.
    return undefined;
  }
}

/** Only the folder for temporary files is used, and only if it is on the same file system. */
function timeOfTemporary(folder: string): number {
  const directory = tmpdir();
  if (statSync(folder).dev !== statSync(directory).dev) return 0;
  const path = join(directory, `.agent-time-${randomId()}`);
  const descriptor = openSync(path, "wx");
  try {
    return fstatSync(descriptor).mtimeMs;
  } finally {
    closeSync(descriptor);
    unlinkSync(path);
  }
}
