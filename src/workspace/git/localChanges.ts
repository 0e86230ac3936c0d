import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { together } from "../../internal/together.ts";
import { submodule } from "./changes.ts";
import { GitError } from "../../errors/workspace/GitError.ts";
import { lacksObjects } from "./history.ts";
import { GitRepository } from "./GitRepository.ts";
import { indexEntries } from "./indexEntries.ts";
import { userSettings } from "./userSettings.ts";

/** Settings that say which differences count. None of them names a program. */
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
  "core.excludesfile",
]);

/**
 * The paths that `git status` lists: staged, changed, unmerged, neither tracked nor ignored, and submodules in which
 * something is so. It works on a copy of the index, with the settings and ignore rules of the repository and its user, but
 * no filter runs: a file with one counts as changed once its size or times differ from those in the index.
 */
export async function localChanges(repository: GitRepository, head: string): Promise<readonly string[]> {
  const environment = { GIT_INDEX_FILE: await repository.copyOfIndex(), GIT_WORK_TREE: repository.root };
  await repository.detachAt(head);
  const [listed, submodules] = await together(
    status(repository, environment).catch(async (error: unknown) => {
      throw (await lacksObjects(repository, ["--no-walk", head])) ? notFetched(error) : error;
    }),
    submodulesIn(repository, environment),
  );
  const paths = new Set(listed);
  for (const path of submodules)
    if (!paths.has(path) && (await isChangedWithin(join(repository.root, path)))) paths.add(path);
  return [...paths].filter((path) => !isOwn(path)).toSorted();
}

function notFetched(cause: unknown): GitError {
  const reason = "this partial clone has not fetched the files of HEAD; fetch them, for example with `git status`";
  return new GitError("status", reason, { cause });
}

async function status(
  repository: GitRepository,
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const settings = await settingsOf(repository);
  const args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"];
  const { output } = await repository.withAttributes("* -filter\n", () =>
    repository.objects(args, { environment, settings }),
  );
  const entries = output.toString().split("\0");
  return entries.filter((entry) => entry !== "").map((entry) => entry.slice(3));
}

/** The folder of this library. */
function isOwn(path: string): boolean {
  return path === ".agent-persistence" || path.includes(".agent-persistence/");
}

/** Whether some files of HEAD are left out of the work tree. */
export async function isSparse(repository: GitRepository): Promise<boolean> {
  return (await indexEntries(repository)).some(({ isSkipped }) => isSkipped);
}

async function submodulesIn(
  repository: GitRepository,
  environment: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { output } = await repository.objects(["ls-files", "--stage", "-z"], { environment });
  const entries = output.toString().split("\0");
  return entries.filter((entry) => entry.startsWith(submodule)).map((entry) => entry.slice(entry.indexOf("\t") + 1));
}

async function isChangedWithin(folder: string): Promise<boolean> {
  if ((await stat(join(folder, ".git")).catch(() => undefined)) === undefined) return false;
  return GitRepository.with(folder, async (repository) => {
    const { output } = await repository.names(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], [0, 1, 128]);
    const head = output.toString().trim();
    return head !== "" && (await localChanges(repository, head)).length > 0;
  });
}

async function settingsOf(repository: GitRepository): Promise<readonly string[]> {
  const settings = [`core.excludesFile=${defaultExcludes()}`];
  for (const [key, value] of await userSettings(repository))
    if (countedSettings.has(key))
      settings.push(`${key}=${value.startsWith("~/") ? join(homedir(), value.slice(2)) : value}`);
  return settings;
}

function defaultExcludes(): string {
  return join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "git", "ignore");
}
