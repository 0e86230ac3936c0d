import { relative, sep } from "node:path";
import { realFolder } from "../../node/realFolder.ts";

/** The path of a folder below a root, with links resolved; empty for the root itself; `undefined`: it is not in it. */
export function folderWithin(root: string, folder: string): string | undefined {
  const names = relative(realFolder(root), realFolder(folder)).split(sep);
  return names[0] === ".." ? undefined : names.join("/");
}
