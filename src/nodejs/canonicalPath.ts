import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { realpathSync } from "node:fs";

/**
 * Returns one spelling for each file, so that paths can be compared. Resolves links in the existing parent directories,
 * but not a link at the path itself.
 *
 * @param path absolute, or relative to the root.
 * @returns a path relative to the root, separated by "/", if the file is below the root. Otherwise an absolute path.
 */
export function canonicalPath(path: string, root: string): string {
  const file = resolve(root, path);
  const real = join(realFolder(dirname(file)), basename(file));
  const within = relative(realFolder(resolve(root)), real);
  return isOutside(within) ? real : within.split(sep).join("/");
}

function isOutside(path: string): boolean {
  return path === "" || path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
}

/** Returns the path of a directory with resolved links. A missing or unreadable part of the path is not changed. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realFolder(parent), basename(folder));
  }
}
