import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Returns the path of a directory with resolved links. A missing or unreadable part of the path stays as written. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realFolder(parent), basename(folder));
  }
}
