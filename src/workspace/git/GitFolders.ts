import { constants } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
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
export async function gitFoldersOf(folder: string): Promise<GitFolders> {
  const real = await realpath(folder).catch(() => folder);
  const tops = await topsOf(real);
  const [top] = tops;
  if (top === undefined) throw new GitError("rev-parse", `there is no repository at ${JSON.stringify(folder)}`);
  const at = join(top, ".git");
  const git = (await stat(at)).isDirectory() ? at : await linkedFolder(top, at);
  const common = resolve(git, (await textOf(join(git, "commondir")))?.trim() ?? ".");
  for (const name of filesOfGit) await assertFile(join(git, name));
  for (const name of commonFiles) await assertFile(join(common, name));
  const prefix = relative(top, real).split(sep).join("/");
  // The shared directory of a linked work tree belongs to the main one. The shared directory of a submodule is in the
  // surrounding repository.
  const shared = await topsOf(dirname(common));
  return { top, prefix: prefix === "" ? "" : `${prefix}/`, git, common, untrusted: [...tops, ...shared, common] };
}

/** Returns the work trees that contain a directory, innermost first. */
async function topsOf(folder: string): Promise<readonly string[]> {
  const tops: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    if ((await stat(join(at, ".git")).catch(() => undefined)) !== undefined) tops.push(at);
    if (dirname(at) === at) return tops;
  }
}

async function linkedFolder(top: string, file: string): Promise<string> {
  const folder = /^gitdir: (.+?)\n?$/s.exec((await textOf(file)) ?? "")?.[1];
  if (folder === undefined) throw new GitError("rev-parse", `${JSON.stringify(file)} does not refer to a repository`);
  return resolve(top, folder);
}

/** Returns the content of a small file, if it exists. Never blocks on a pipe. @throws GitError */
async function textOf(file: string): Promise<string | undefined> {
  await assertFile(file);
  const handle = await open(file, nonBlocking).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > mostBytes) throw notAFile(file);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

async function assertFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found !== undefined && !found.isFile()) throw notAFile(file);
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
export async function assertOwnFolders(folders: GitFolders): Promise<void> {
  const [top, git, common] = await Promise.all([real(folders.top), real(folders.git), real(folders.common)]);
  const isInside = isWithin(top, git) && isWithin(top, common);
  if (!isInside && !(await isNamedBack({ top, git, common })))
    throw notWritten(
      `${JSON.stringify(join(top, ".git"))} leads to ${JSON.stringify(common)}, which does not name this work tree. ` +
        "If the work tree was moved, call `git worktree repair` there; if the repository is elsewhere on purpose, set its core.worktree",
    );
  for (const name of written) for (const folder of [git, common]) await assertInside(folder, name, [git, common]);
  await assertInside(common, "objects", [common]);
  const names = await readdir(join(common, "objects"), { withFileTypes: true }).catch(() => []);
  for (const entry of names.filter((each) => each.isSymbolicLink()))
    await assertInside(common, join("objects", entry.name), [common]);
}

/** Rejects a ref that a link stores elsewhere. `ref` has a form such as `refs/heads/main`. @throws GitError */
export async function assertOwnRef({ common }: GitFolders, ref: string): Promise<void> {
  const base = await real(common);
  for (const name of [ref, `logs/${ref}`])
    for (const each of [...foldersAbove(name), name]) await assertInside(base, each, [base]);
}

/** Returns whether a repository outside of the work tree refers back to this work tree. */
async function isNamedBack({ top, git, common }: Pick<GitFolders, "top" | "git" | "common">): Promise<boolean> {
  if (git !== common) {
    const isListed = dirname(git) === join(common, "worktrees") && basename(git) !== "";
    const back = (await textOf(join(git, "gitdir")))?.trim() ?? "";
    return isListed && back !== "" && (await real(resolve(git, dirname(back)))) === top;
  }
  for (const file of ["config", "config.worktree"]) {
    const workTree = workTreeIn((await textOf(join(git, file))) ?? "");
    if (workTree !== undefined && (await real(resolve(git, workTree))) === top) return true;
  }
  return false;
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

async function assertInside(folder: string, name: string, allowed: readonly string[]): Promise<void> {
  const path = join(folder, name);
  const found = await realpath(path).catch(() => undefined);
  if (found === undefined || allowed.some((base) => isWithin(base, found))) return;
  throw notWritten(`${JSON.stringify(path)} is a link that leads to ${JSON.stringify(found)}, out of the repository`);
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function real(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

export function notWritten(reason: string): GitError {
  return new GitError("", `the library does not write into this repository: ${reason}`);
}
