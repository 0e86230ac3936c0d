import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";

/** The path of a folder below a root, with links resolved; empty for the root itself; `undefined`: it is not in it. */
export function folderWithin(root: string, folder: string): string | undefined {
  const names = relative(realFolder(root), realFolder(folder)).split(sep);
  return names[0] === ".." ? undefined : names.join("/");
}

/** What is not there yet cannot be a link. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realFolder(parent), basename(folder));
  }
}
