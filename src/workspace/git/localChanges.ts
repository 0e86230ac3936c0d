import { stat } from "node:fs/promises";
import { join } from "node:path";
import { together } from "../../internal/together.ts";
import { GitError } from "../../errors/workspaceErrors.ts";
import { lacksObjects } from "./history.ts";
import { GitRepository, excludesFile, userSettings, settingsIn } from "./GitRepository.ts";
import { indexEntries, submodule } from "./gitChanges.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { splitAtNul } from "./runGit.ts";

const known: readonly string[] = ["none", "untracked", "dirty", "all"] satisfies readonly IgnoredChanges[];
const maximumFileBytes = 1024 * 1024;

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
 * run, so a filtered file counts as changed as soon as its size or times differ from the index.
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
  return splitAtNul(output).map((entry) => ({ path: entry.slice(3), isStaged: !entry.startsWith(" ") }));
}

function isOwn(path: string): boolean {
  return path.split("/").includes(".agent-persistence");
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

/** The submodule changes to ignore. `dirty` ignores all changes except another commit. */
type IgnoredChanges = "none" | "untracked" | "dirty" | "all";

/** Returns the submodules of an index with the changes that `.gitmodules` and the settings ignore. */
async function ignoredInSubmodules(
  repository: GitRepository,
  indexFile: string,
  settings: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, IgnoredChanges>> {
  const entries = await indexEntries(repository, indexFile);
  const paths = entries.filter(({ mode }) => mode === submodule).map(({ path }) => path);
  if (paths.length === 0) return new Map();
  const modules = await modulesIn(repository, indexFile);
  const names = new Map([...modules].flatMap(([key, value]) => nameIn(key, value)));
  const ignored = (path: string): IgnoredChanges => {
    const key = `submodule.${names.get(path)}.ignore`;
    const own = names.has(path) ? [settings.get(key), modules.get(key)] : [];
    return [...own, settings.get("diff.ignoresubmodules")].find(isIgnoredChanges) ?? "none";
  };
  return new Map(paths.map((path) => [path, ignored(path)]));
}

function isIgnoredChanges(value: string | undefined): value is IgnoredChanges {
  return value !== undefined && known.includes(value);
}

function nameIn(key: string, value: string): readonly (readonly [path: string, name: string])[] {
  const name = /^submodule\.(.+)\.path$/s.exec(key)?.[1];
  return name === undefined ? [] : [[value, name]];
}

/** Returns the settings of `.gitmodules` in the work tree or else in the index. Empty if git cannot read them. */
async function modulesIn(repository: GitRepository, indexFile: string): Promise<ReadonlyMap<string, string>> {
  const environment = { GIT_INDEX_FILE: indexFile };
  const [found, staged] = await together(
    new WorkspaceFiles(repository.root, maximumFileBytes).read(".gitmodules"),
    repository.objects(["cat-file", "blob", ":.gitmodules"], { environment, expected: [0, 128] }),
  );
  const input = found.kind === "missing" ? staged.output : found.kind === "file" ? found.content : "";
  const args = ["config", "--file", "-", "--list", "-z"];
  const { exitCode, output } = await repository.objects(args, { input, expected: [0, 1, 128] });
  return new Map(exitCode === 0 ? settingsIn(output) : []);
}
