import { stat } from "node:fs/promises";
import { join } from "node:path";
import { together } from "../../internal/together.ts";
import { GitError } from "../../errors/workspaceErrors.ts";
import { lacksObjects } from "./history.ts";
import { GitRepository } from "./GitRepository.ts";
import { type IgnoredChanges, ignoredInSubmodules } from "./ignoredSubmodules.ts";
import { indexEntries } from "./indexEntries.ts";
import { excludesFile, userSettings } from "./userSettings.ts";

/** Settings that determine which differences count. None of them names a program. */
const countedSettings = new Set([
  "core.filemode",
  "core.symlinks",
  "core.ignorecase",
  "core.precomposeunicode",
  "core.trustctime",
  "core.checkstat",
  "core.autocrlf",
  "core.eol",
  "core.sparsecheckout",
  "core.sparsecheckoutcone",
]);

/**
 * Returns the paths that `git status` lists: staged, changed, unmerged and untracked files, and submodules with
 * changes. Uses a copy of the index and the settings and ignore rules of the repository and its user. Filters do not
 * run: a filtered file counts as changed once its size or times differ from the index.
 */
export async function localChanges(
  repository: GitRepository,
  head: string,
  { untracked = true }: { readonly untracked?: boolean } = {},
): Promise<readonly string[]> {
  const indexFile = await repository.copyOfIndex();
  const environment = { GIT_INDEX_FILE: indexFile, GIT_WORK_TREE: repository.root };
  await repository.detachAt(head);
  const settings = await userSettings(repository);
  const [listed, submodules] = await together(
    status(repository, { environment, settings: countedIn(settings), untracked }).catch(async (error: unknown) => {
      throw (await lacksObjects(repository, ["--no-walk", head])) ? notFetched(error) : error;
    }),
    ignoredInSubmodules(repository, indexFile, settings),
  );
  const counted = listed.filter(({ isStaged, path }) => isStaged || submodules.get(path) !== "all");
  const paths = new Set(counted.map(({ path }) => path));
  for (const [path, ignored] of submodules)
    if (!paths.has(path) && (await isChangedWithin(join(repository.root, path), ignored, untracked))) paths.add(path);
  return [...paths].filter((path) => !isOwn(path)).toSorted();
}

function notFetched(cause: unknown): GitError {
  const reason = "this partial clone has not fetched the files of HEAD; fetch them, for example with `git status`";
  return new GitError("status", reason, { cause });
}

interface Listed {
  readonly path: string;
  readonly isStaged: boolean;
}

async function status(
  repository: GitRepository,
  {
    untracked,
    ...options
  }: {
    readonly environment: Readonly<Record<string, string>>;
    readonly settings: readonly string[];
    readonly untracked: boolean;
  },
): Promise<readonly Listed[]> {
  const files = `--untracked-files=${untracked ? "all" : "no"}`;
  const args = ["status", "--porcelain=v1", "-z", files, "--no-renames", "--ignore-submodules=dirty"];
  const { output } = await repository.withAttributes("* -filter\n", () => repository.objects(args, options));
  const entries = output.toString().split("\0");
  return entries
    .filter((entry) => entry !== "")
    .map((entry) => ({ path: entry.slice(3), isStaged: !entry.startsWith(" ") }));
}

function isOwn(path: string): boolean {
  return path === ".agent-persistence" || path.includes(".agent-persistence/");
}

/** Returns whether some files of HEAD are excluded from the work tree. */
export async function isSparse(repository: GitRepository): Promise<boolean> {
  return (await indexEntries(repository)).some(({ isSkipped }) => isSkipped);
}

async function isChangedWithin(folder: string, ignored: IgnoredChanges, untracked: boolean): Promise<boolean> {
  if (ignored === "all" || ignored === "dirty") return false;
  if ((await stat(join(folder, ".git")).catch(() => undefined)) === undefined) return false;
  return GitRepository.with(folder, async (repository) => {
    const { output } = await repository.names(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], [0, 1, 128]);
    const head = output.toString().trim();
    const counted = { untracked: untracked && ignored === "none" };
    return head !== "" && (await localChanges(repository, head, counted)).length > 0;
  });
}

function countedIn(settings: ReadonlyMap<string, string>): readonly string[] {
  const counted = [...settings].filter(([key]) => countedSettings.has(key));
  return [`core.excludesFile=${excludesFile(settings)}`, ...counted.map(([key, value]) => `${key}=${value}`)];
}
