import { constants } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { GitError } from "../../errors/workspace/GitError.ts";

/** Where a repository keeps its things. */
export interface GitFolders {
  /** The root of the work tree. */
  readonly top: string;
  /** The folder that was asked about, relative to `top`, with "/" at the end; empty for `top` itself. */
  readonly prefix: string;
  /** The `.git` of the work tree, with HEAD and the index. */
  readonly git: string;
  /** The folder that all work trees share, with objects and refs. */
  readonly common: string;
  /** Folders in which no program is trusted: this work tree, the main one, and those of repositories around it. */
  readonly untrusted: readonly string[];
}

const nonBlocking = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const mostBytes = 65_536;

/** What git would open on its own, and wait for if it were a pipe. */
const filesOfGit = ["HEAD", "index", "config", "config.worktree", "info/sparse-checkout"];
const commonFiles = ["config", "packed-refs", "shallow", "info/exclude", "objects/info/alternates"];

/**
 * The repository of a folder, which may be below the root of the work tree. Does not ask git, which would also look in the
 * environment.
 *
 * @throws GitError also when a pipe or device is in the place of a file.
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
  // Of a linked work tree, the shared folder is that of the main one; of a submodule, it is in the repository around it.
  const shared = await topsOf(dirname(common));
  return { top, prefix: prefix === "" ? "" : `${prefix}/`, git, common, untrusted: [...tops, ...shared, common] };
}

/** The work trees that a folder is in, innermost first. */
async function topsOf(folder: string): Promise<readonly string[]> {
  const tops: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    if ((await stat(join(at, ".git")).catch(() => undefined)) !== undefined) tops.push(at);
    if (dirname(at) === at) return tops;
  }
}

async function linkedFolder(top: string, file: string): Promise<string> {
  const folder = /^gitdir: (.+)\n?$/.exec((await textOf(file)) ?? "")?.[1];
  if (folder === undefined) throw new GitError("rev-parse", `${JSON.stringify(file)} names no repository`);
  return resolve(top, folder);
}

/** The content of a small file; `undefined` when there is none. Waits for no pipe. @throws GitError */
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
