import { together } from "../../internal/together.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { submodule } from "./changes.ts";
import type { GitRepository } from "./GitRepository.ts";
import { indexEntries } from "./indexEntries.ts";
import { settingIn } from "./userSettings.ts";

/** The submodule changes to ignore. `dirty` ignores all changes except another commit. */
export type IgnoredChanges = "none" | "untracked" | "dirty" | "all";

const known: readonly string[] = ["none", "untracked", "dirty", "all"] satisfies readonly IgnoredChanges[];
const maximumFileBytes = 1024 * 1024;

/** Returns the submodules of an index with the changes that `.gitmodules` and the settings ignore. */
export async function ignoredInSubmodules(
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

/** Returns the settings of `.gitmodules` from the work tree or else the index. Empty if git cannot read them. */
async function modulesIn(repository: GitRepository, indexFile: string): Promise<ReadonlyMap<string, string>> {
  const environment = { GIT_INDEX_FILE: indexFile };
  const [found, staged] = await together(
    new WorkspaceFiles(repository.root, maximumFileBytes).read(".gitmodules"),
    repository.objects(["cat-file", "blob", ":.gitmodules"], { environment, expected: [0, 128] }),
  );
  const input = found.kind === "missing" ? staged.output : found.kind === "file" ? found.content : "";
  const args = ["config", "--file", "-", "--list", "-z"];
  const { exitCode, output } = await repository.objects(args, { input, expected: [0, 1, 128] });
  const lines = output.toString().split("\0");
  return new Map(exitCode === 0 ? lines.filter((line) => line !== "").map(settingIn) : []);
}
