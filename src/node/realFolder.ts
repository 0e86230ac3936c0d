import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** The path of a folder with links resolved. The part of the path that does not exist, or cannot be read, stays as written. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realFolder(parent), basename(folder));
  }
}
