import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { realFolder } from "./realFolder.ts";

/**
 * One spelling for each file, so that two names of a file can be compared. Links in the folders on the way are resolved as
 * far as these folders exist. A link in the place of the file itself stays.
 *
 * @param path absolute, or relative to the root.
 * @returns relative to the root, with "/" between the names, if the file is below the root. Otherwise absolute.
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
