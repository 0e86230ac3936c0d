import { PathNotAllowedError } from "../../errors/workspaceErrors.ts";
import { isAbsolute, relative, sep } from "node:path";
import { realFolder } from "../../nodejs/canonicalPath.ts";

/** The maximum depth, because each parent directory is opened and synced separately. */
const deepest = 100;

/** Code points that some file systems ignore in comparisons of names. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]/g;

/**
 * Returns the stored form of a path: names joined by "/" without "." and "..". Validates only text. {@link
 * ConfinedFolder} validates the file system.
 *
 * @throws PathNotAllowedError
 */
export function relativePath(path: string): string {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const problem = problemOf(path, names);
  if (problem !== undefined) throw new PathNotAllowedError(path, problem);
  return names.join("/");
}

function problemOf(path: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return "it names no file";
  if (path.startsWith("/")) return "it is absolute";
  if (names.length > deepest) return `it is more than ${deepest} folders deep`;
  if (path.includes("\0")) return "it contains a NUL character";
  if (/\p{Surrogate}/u.test(path)) return "it is not well-formed text";
  if (names.includes("..")) return 'it contains ".."';
  if (process.platform === "win32" && /[\\:]/.test(path)) return 'it contains "\\" or ":"';
  if (names.some(isGitFolder)) return "it leads into .git";
  return names.some((name) => plainName(name) === ".agent-persistence")
    ? "it leads into .agent-persistence"
    : undefined;
}

/** Returns whether some file system treats a name as `.git`. */
function isGitFolder(name: string): boolean {
  const plain = plainName(name);
  return plain === ".git" || plain === "git~1";
}

function plainName(name: string): string {
  return name
    .replace(ignorable, "")
    .replace(/[. ]+$/, "")
    .toLowerCase();
}

/** Returns the parent directories of a file, outermost first. */
export function foldersAbove(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("/"));
}

export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Returns the path of a directory in a root, with links resolved. Empty for the root, `undefined` outside. */
export function folderWithin(root: string, folder: string): string | undefined {
  const path = relative(realFolder(root), realFolder(folder));
  const names = path.split(sep);
  // On Windows, the path of a directory on another drive is absolute.
  return names[0] === ".." || isAbsolute(path) ? undefined : names.join("/");
}
