import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { GitError } from "../../errors/workspaceErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { foldersAbove } from "../files/relativePath.ts";
import { submodule, indexEntries } from "../git/gitChanges.ts";
import { type GitFolders, gitFoldersOf } from "../git/GitFolders.ts";
import { GitRepository, excludesFile, isOn, userSettings } from "../git/GitRepository.ts";
import { commitOf, currentBranch } from "../git/history.ts";
import { type GitHead, type GitState, gitStateOf } from "./GitState.ts";

export interface GitView {
  /** The directory relative to the top of the work tree, with a trailing "/". Empty for the top. */
  readonly prefix: string;
  /** The patterns of `core.excludesFile` and of `.git/info/exclude`. */
  readonly excludes: readonly string[];
  /** The patterns of `.gitignore` files above the directory, by the path of their directory. */
  readonly above: ReadonlyMap<string, string>;
  /** The tracked files in the directory and their parent directories, relative to the directory. */
  readonly tracked: ReadonlySet<string>;
  readonly ignoresCase: boolean;
  /** HEAD and the index. `undefined` if git could not read them. */
  readonly state: GitState | undefined;
}

/** The parts of a view that require a call of git. */
interface Asked extends Pick<GitView, "tracked" | "ignoresCase" | "state"> {
  readonly stamp: string;
  readonly excludesFile: string;
}

/** The maximum size of a pattern file. Larger files are ignored. */
const mostBytes = 10 * 1024 * 1024;
const unlinked = constants.O_NOFOLLOW ?? 0;
const nonBlocking = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads and caches git's view of one directory. Calls git again only after HEAD, the index or the settings changed. */
export class GitViews {
  #asked: Asked | undefined;

  constructor(readonly folder: string) {}

  /** @returns `undefined` outside of a repository, or if a repository above the directory belongs to another user */
  async read(): Promise<GitView | undefined> {
    const folders = foldersOf(this.folder);
    if (!folders || !isOwned(folders)) return undefined;
    const { top, prefix, common } = folders;
    const stamp = stampOf(folders);
    // A failed call of git is repeated by the next read.
    if (this.#asked?.stamp !== stamp) this.#asked = await ask(this.folder, stamp);
    const { tracked, ignoresCase, state, excludesFile: global } = this.#asked ?? nothingAsked();
    const names = prefix === "" ? [] : ["", ...foldersAbove(prefix.slice(0, -1))];
    return {
      prefix,
      excludes: [global, join(common, "info", "exclude")].map((file) => readPatterns(file, 0)),
      above: new Map(names.map((name) => [name, readPatterns(join(top, name, ".gitignore"))])),
      tracked,
      ignoresCase,
      state,
    };
  }
}

/** Returns the patterns in a file, or "" without a file. Never blocks on a pipe. Does not follow links by default. */
export function readPatterns(file: string, flags: number = unlinked): string {
  try {
    const descriptor = openSync(file, nonBlocking | flags);
    try {
      const found = fstatSync(descriptor);
      return found.isFile() && found.size <= mostBytes ? readFileSync(descriptor, "utf8").replace(/^\uFEFF/, "") : "";
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return "";
  }
}

function foldersOf(folder: string): GitFolders | undefined {
  try {
    return gitFoldersOf(folder);
  } catch (error) {
    return passOver(error);
  }
}

/** As git does, trusts a repository above the directory only if it belongs to the same user. */
function isOwned({ top, prefix }: GitFolders): boolean {
  const user = process.getuid?.();
  return prefix === "" || user === undefined || statSync(join(top, ".git")).uid === user;
}

function nothingAsked(): Omit<Asked, "stamp"> {
  return { tracked: new Set(), ignoresCase: false, excludesFile: excludesFile(new Map()), state: undefined };
}

/** Returns `undefined` if git failed. */
async function ask(folder: string, stamp: string): Promise<Asked | undefined> {
  return GitRepository.with(folder, async (repository): Promise<Asked> => {
    const settings = await userSettings(repository);
    const entries = await indexEntries(repository);
    const paths = entries.filter(({ mode }) => mode !== submodule).map(({ path }) => path);
    return {
      stamp,
      tracked: withFolders(paths, repository.prefix),
      ignoresCase: isOn(settings, "core.ignorecase", false),
      excludesFile: excludesFile(settings),
      state: gitStateOf(await gitHeadOf(repository), entries),
    };
  }).catch(passOver);
}

function withFolders(paths: readonly string[], prefix: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const path of paths) {
    if (!path.startsWith(prefix)) continue;
    const inside = path.slice(prefix.length);
    for (const each of [inside, ...foldersAbove(inside)]) found.add(each);
  }
  return found;
}

/** @throws GitError */
export async function gitHeadOf(repository: GitRepository): Promise<GitHead> {
  const [branch, commit] = await Promise.all([currentBranch(repository), commitOf(repository, "HEAD")]);
  return withoutUndefined({ branch, commit });
}

/** Returns a key that changes with HEAD, the index and the settings of the repository and its user. */
function stampOf({ git, common }: GitFolders): string {
  const { GIT_CONFIG_GLOBAL = "", XDG_CONFIG_HOME, HOME = homedir() } = process.env;
  const user = [
    GIT_CONFIG_GLOBAL,
    join(HOME, ".gitconfig"),
    join(XDG_CONFIG_HOME || join(HOME, ".config"), "git/config"),
  ];
  const head = readPatterns(join(git, "HEAD"), 0);
  const branch = /^ref: (refs\/.+)\n?$/.exec(head)?.[1];
  const refs = [
    ...(branch === undefined ? [] : [join(common, branch)]),
    join(common, "packed-refs"),
    ...[git, common].map((folder) => join(folder, "reftable", "tables.list")),
  ];
  const files = [join(git, "index"), join(git, "config.worktree"), join(common, "config"), ...refs, ...user];
  return [head, ...files.map(stampOfFile)].join("\n");
}

function stampOfFile(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [file, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return file;
  }
}

function passOver(error: unknown): undefined {
  if (!(error instanceof GitError)) throw error;
  return undefined;
}
