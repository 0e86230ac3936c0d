import { closeSync, fstatSync, openSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomId } from "../../internal/randomId.ts";

/**
 * The time that the file system would give to a file that is made now, in milliseconds since 1970. It lags some milliseconds
 * behind the clock. 0: it cannot be told.
 */
export function fileSystemTime(): number {
  const path = join(tmpdir(), `.agent-time-${randomId()}`);
  try {
    const descriptor = openSync(path, "wx");
    try {
      return fstatSync(descriptor).mtimeMs;
    } finally {
      closeSync(descriptor);
      unlinkSync(path);
    }
  } catch {
    return 0;
  }
}
