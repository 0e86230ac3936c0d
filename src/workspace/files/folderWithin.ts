import { relative, sep } from "node:path";
import { realFolder } from "../../node/realFolder.ts";

/**
 * Returns the path of a directory relative to a root, with links resolved. Empty for the root itself, `undefined`
 * outside of it.
 */
export function folderWithin(root: string, folder: string): string | undefined {
  const names = relative(realFolder(root), realFolder(folder)).split(sep);
  return names[0] === ".." ? undefined : names.join("/");
}
