import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { GitError } from "../../errors/workspaceErrors.ts";
import { foldersAbove } from "../files/relativePath.ts";

export interface GitFolders {
  /** The root of the work tree. */
  readonly top: string;
  /** The opened directory relative to `top`, with a trailing "/". Empty for `top` itself. */
  readonly prefix: string;
  /** The `.git` of the work tree, with HEAD and the index. */
  readonly git: string;
  /** The directory with objects and refs that all work trees share. */
  readonly common: string;
  /** Directories whose programs are not trusted: this work tree, the main one, and surrounding ones. */
  readonly untrusted: readonly string[];
}

const nonBlocking = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const mostBytes = 65_536;

/** The files that git opens. A pipe in place of such a file would block git. */
const filesOfGit = ["HEAD", "index", "config", "config.worktree", "info/sparse-checkout"];
const commonFiles = ["config", "packed-refs", "shallow", "info/exclude", "objects/info/alternates"];

/**
 * Finds the repository of a directory at or below the root of its work tree, without git, which would read environment
 * variables.
 *
 * @throws GitError, also for a pipe or device in place of a file
 */
export function gitFoldersOf(folder: string): GitFolders {
  const real = realPath(folder);
  const tops = topsOf(real);
  const [top] = tops;
  if (top === undefined) throw new GitError("rev-parse", `there is no repository at ${JSON.stringify(folder)}`);
  const at = join(top, ".git");
  const git = statOf(at)?.isDirectory() ? at : linkedFolder(top, at);
  const common = resolve(git, textOf(join(git, "commondir"))?.trim() ?? ".");
  for (const name of filesOfGit) assertFile(join(git, name));
  for (const name of commonFiles) assertFile(join(common, name));
  const prefix = relative(top, real).split(sep).join("/");
  // The shared directory of a linked work tree belongs to the main one. The shared directory of a submodule is in the
  // surrounding repository.
  const shared = topsOf(dirname(common));
  return { top, prefix: prefix === "" ? "" : `${prefix}/`, git, common, untrusted: [...tops, ...shared, common] };
}

/** Returns the work trees that contain a directory, innermost first. */
function topsOf(folder: string): readonly string[] {
  const tops: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    if (statOf(join(at, ".git"))) tops.push(at);
    if (dirname(at) === at) return tops;
  }
}

function linkedFolder(top: string, file: string): string {
  const folder = /^gitdir: (.+?)\n?$/s.exec(textOf(file) ?? "")?.[1];
  if (folder === undefined) throw new GitError("rev-parse", `${JSON.stringify(file)} does not refer to a repository`);
  return resolve(top, folder);
}

/** Returns the content of a small file, or `undefined` if it cannot be read. Never blocks on a pipe. @throws GitError */
function textOf(file: string): string | undefined {
  assertFile(file);
  const descriptor = orUndefined(() => openSync(file, nonBlocking));
  if (descriptor === undefined) return undefined;
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > mostBytes) throw notAFile(file);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function assertFile(file: string): void {
  if (statOf(file)?.isFile() === false) throw notAFile(file);
}

function statOf(path: string): Stats | undefined {
  return orUndefined(() => statSync(path, { throwIfNoEntry: false }));
}

function realPath(path: string): string {
  return orUndefined(() => realpathSync.native(path)) ?? path;
}

function orUndefined<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

function notAFile(file: string): GitError {
  return new GitError("rev-parse", `${JSON.stringify(file)} is not a file that git would write`);
}

/** The paths that git writes to, other than object directories. */
const written = ["refs", "logs", "reftable", "HEAD", "logs/HEAD"];

/**
 * Rejects a repository of another work tree, or with links as directories, because git would write where an untrusted
 * work tree chose. Linked work trees and submodules must be registered.
 *
 * @throws GitError
 */
export function assertOwnFolders(folders: GitFolders): void {
  const [top, git, common] = [realPath(folders.top), realPath(folders.git), realPath(folders.common)];
  const isInside = isWithin(top, git) && isWithin(top, common);
  if (!isInside && !isNamedBack({ top, git, common }))
    throw notWritten(
      `${JSON.stringify(join(top, ".git"))} leads to ${JSON.stringify(common)}, which does not name this work tree. ` +
        "If the work tree was moved, call `git worktree repair` there; if the repository is elsewhere on purpose, set its core.worktree",
    );
  for (const name of written) for (const folder of [git, common]) assertInside(folder, name, [git, common]);
  assertInside(common, "objects", [common]);
  const names = orUndefined(() => readdirSync(join(common, "objects"), { withFileTypes: true })) ?? [];
  for (const entry of names.filter((each) => each.isSymbolicLink()))
    assertInside(common, join("objects", entry.name), [common]);
}

/** Rejects a ref that a link stores elsewhere. `ref` has a form such as `refs/heads/main`. @throws GitError */
export function assertOwnRef({ common }: GitFolders, ref: string): void {
  const base = realPath(common);
  for (const name of [ref, `logs/${ref}`])
    for (const each of [...foldersAbove(name), name]) assertInside(base, each, [base]);
}

/** Returns whether a repository outside of the work tree refers back to this work tree. */
function isNamedBack({ top, git, common }: Pick<GitFolders, "top" | "git" | "common">): boolean {
  if (git !== common) {
    const isListed = dirname(git) === join(common, "worktrees") && basename(git) !== "";
    const back = textOf(join(git, "gitdir"))?.trim() ?? "";
    return isListed && back !== "" && realPath(resolve(git, dirname(back))) === top;
  }
  return ["config", "config.worktree"].some((file) => {
    const workTree = workTreeIn(textOf(join(git, file)) ?? "");
    return workTree !== undefined && realPath(resolve(git, workTree)) === top;
  });
}

function workTreeIn(config: string): string | undefined {
  let section = "";
  for (const line of config.split("\n")) {
    section = /^\s*\[(.*?)\]/.exec(line)?.[1]?.trim().toLowerCase() ?? section;
    const value = section === "core" ? /^\s*worktree\s*=\s*(.+?)\s*$/i.exec(line)?.[1] : undefined;
    if (value !== undefined) return /^".*"$/.test(value) ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  }
  return undefined;
}

function assertInside(folder: string, name: string, allowed: readonly string[]): void {
  const path = join(folder, name);
  const found = orUndefined(() => realpathSync.native(path));
  if (found === undefined || allowed.some((base) => isWithin(base, found))) return;
  throw notWritten(`${JSON.stringify(path)} is a link that leads to ${JSON.stringify(found)}, out of the repository`);
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

export function notWritten(reason: string): GitError {
  return new GitError("", `the library does not write into this repository: ${reason}`);
}
