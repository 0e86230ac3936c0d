import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir, homedir } from "node:os";
import { join } from "node:path";
import { assertOwnFolders, assertOwnRef, type GitFolders, gitFoldersOf, notWritten } from "./GitFolders.ts";
import { type GitProgram, gitProgram, type GitAnswer, type GitCall, splitAtNul, runGit } from "./runGit.ts";
import { checkedId } from "./refName.ts";
import { GitError } from "../../errors/workspaceErrors.ts";

interface ObjectOptions {
  /** Exit codes that are not errors. Defaults to 0. */
  readonly expected?: readonly number[];
  readonly input?: string | Uint8Array;
  /** Environment variables such as `GIT_INDEX_FILE` or `GIT_WORK_TREE`. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly settings?: readonly string[];
  /** Whether new objects are written to the repository. By default they are removed after the action. */
  readonly keep?: boolean;
}

/** The attributes that disable the conversion of line endings, keywords, filters and encodings. */
const exactAttributes = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n";

/**
 * An untrusted repository, opened for one action. Commands that use objects, the index or the work tree run in a
 * temporary git directory, which has no hooks, filters or settings, and uses the objects of the repository. In the
 * repository itself, git only reads and sets refs, with hooks disabled. The temporary directory is removed after the
 * action.
 */
export class GitRepository {
  readonly #folders: GitFolders;
  readonly #program: GitProgram;
  readonly #own: string;
  #signal: AbortSignal | undefined;
  #idLength = 40;
  #writable: Promise<void> | undefined;

  private constructor(folders: GitFolders, own: string, signal: AbortSignal | undefined) {
    this.#folders = folders;
    this.#program = gitProgram(process.env["PATH"] ?? "", folders.untrusted);
    this.#own = own;
    this.#signal = signal;
  }

  /** @param folder the root of a work tree or a directory in it @throws GitError if there is no repository */
  static async with<Result>(
    folder: string,
    action: (repository: GitRepository) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const folders = gitFoldersOf(folder);
    const own = await mkdtemp(join(tmpdir(), "agent-git-"));
    try {
      const repository = new GitRepository(folders, own, signal);
      await repository.#make();
      return await action(repository);
    } finally {
      // The result of the action counts, even if a process that the action started still writes into the directory.
      await rm(own, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
    }
  }

  get root(): string {
    return this.#folders.top;
  }

  /** The opened directory relative to the root, with a trailing "/". Empty for the root. */
  get prefix(): string {
    return this.#folders.prefix;
  }

  /** The id that git writes for a missing object. */
  get nullId(): string {
    return "0".repeat(this.#idLength);
  }

  get scratch(): string {
    return join(this.#own, "scratch");
  }

  /** Returns the path of an entry in the `.git` of the work tree, such as `index` or `MERGE_HEAD`. */
  gitPath(name: string): string {
    return join(this.#folders.git, name);
  }

  /** Rejects writes if the repository does not belong to the work tree, or to a ref. @throws GitError */
  async assertWritable(ref?: string): Promise<void> {
    await (this.#writable ??= this.#assertOwn());
    if (ref !== undefined) assertOwnRef(this.#folders, ref);
  }

  async #assertOwn(): Promise<void> {
    assertOwnFolders(this.#folders);
    const settings = await this.#settings();
    // Since version 2.54, git can keep the refs in any directory.
    if (settings.some(([key, value]) => key === "extensions.refstorage" && value.includes(":")))
      throw notWritten("its setting extensions.refStorage names another directory");
    withoutHooks(settings);
  }

  async #settings(): Promise<readonly Setting[]> {
    return settingsIn((await this.names(["config", "--list", "-z"])).output);
  }

  /** Copies the index of the work tree for one use. Skips missing files. */
  async copyOfIndex(): Promise<string> {
    const folder = await mkdtemp(join(this.scratch, "index-"));
    const [copy, part] = [join(folder, "index"), join(folder, "part")];
    await copyWithTime(this.gitPath("index"), copy);
    const names = await readdir(this.#folders.git);
    for (const name of names.filter((each) => each.startsWith("sharedindex.")))
      // A rename, because another command may be reading the previous copy.
      if (await copyWithTime(this.gitPath(name), part)) await rename(part, join(this.#own, name));
    return copy;
  }

  /** Lets git finish after an abort from now on. Call this before the first of several changes that belong together. */
  startChange(): void {
    this.#signal?.throwIfAborted();
    this.#signal = undefined;
  }

  async detachAt(commit: string): Promise<void> {
    const file = join(this.scratch, "HEAD");
    await writeFile(file, `${checkedId(commit)}\n`);
    // A rename, so that concurrent commands never read an empty file.
    await rename(file, join(this.#own, "HEAD"));
  }

  async detachedAt(): Promise<string> {
    return checkedId((await readFile(join(this.#own, "HEAD"), "utf8")).trim());
  }

  /** Returns the boundary commits of a shallow clone. Empty for a full clone. */
  async shallowCommits(): Promise<readonly string[]> {
    const text = await readFile(join(this.#own, "shallow"), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  /** Returns the time of the last fetch in milliseconds since 1970, or `undefined` if unknown. */
  async fetchedAt(): Promise<number | undefined> {
    const found = await stat(this.gitPath("FETCH_HEAD")).catch(() => undefined);
    return found?.mtimeMs;
  }

  /** Sets a ref in the repository itself. Disables the hooks that its settings name. @throws GitError */
  async setRef(args: readonly string[]): Promise<void> {
    const hooks = withoutHooks(await this.#settings());
    await runGit(this.#call(args, { GIT_DIR: this.#folders.git, ...hooks }));
  }

  /** Reads refs or settings in the repository itself. @throws GitError */
  names(args: readonly string[], expected?: readonly number[]): Promise<GitAnswer> {
    return runGit(this.#call(args, { GIT_DIR: this.#folders.git }), expected);
  }

  /** Runs a command in the temporary git directory, on the objects of the repository. @throws GitError */
  async objects(
    args: readonly string[],
    { expected, input, environment, keep, settings }: ObjectOptions = {},
  ): Promise<GitAnswer> {
    if (keep) await this.assertWritable();
    const store = keep ? { GIT_OBJECT_DIRECTORY: join(this.#folders.common, "objects") } : {};
    const call = this.#call(args, { GIT_DIR: this.#own, ...store, ...environment });
    return runGit({ ...call, ...(input !== undefined && { input }), ...(settings && { settings }) }, expected);
  }

  /** Returns all settings of the repository and its user, as `git config --list` prints them. @throws GitError */
  userSettings(): Promise<GitAnswer> {
    const user = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const { GIT_CONFIG_GLOBAL = "", ...known } = Object.fromEntries(user);
    const call = this.#call(["config", "--list", "--show-scope", "-z"], { GIT_DIR: this.#folders.git, ...known });
    return runGit({ ...call, userConfiguration: GIT_CONFIG_GLOBAL });
  }

  /** Runs an action while the temporary git directory has other attributes. */
  async withAttributes<Result>(attributes: string, action: () => Promise<Result>): Promise<Result> {
    const file = join(this.#own, "info", "attributes");
    await writeFile(file, attributes);
    try {
      return await action();
    } finally {
      await writeFile(file, exactAttributes);
    }
  }

  /** Runs an action with settings under which git checks out no files. */
  async withoutFiles<Result>(action: (settings: readonly string[]) => Promise<Result>): Promise<Result> {
    const file = join(this.#own, "info", "sparse-checkout");
    const before = await readFile(file).catch(() => undefined);
    await writeFile(file, "!/*\n");
    try {
      return await action(["core.sparseCheckout=true", "core.sparseCheckoutCone=false"]);
    } finally {
      await (before === undefined ? rm(file) : writeFile(file, before));
    }
  }

  /** Returns the trimmed output of {@link objects}. @throws GitError */
  async objectText(args: readonly string[], options?: ObjectOptions): Promise<string> {
    return (await this.objects(args, options)).output.toString().trim();
  }

  #call(args: readonly string[], environment: Readonly<Record<string, string>>): GitCall {
    return {
      args,
      program: this.#program,
      environment: { HOME: this.#own, ...environment },
      directory: this.#own,
      ...(this.#signal && { signal: this.#signal }),
    };
  }

  async #make(): Promise<void> {
    for (const name of ["info", "objects", "objects/info", "refs", "scratch"])
      await mkdir(join(this.#own, name), { mode: 0o700 });
    await writeFile(
      join(this.#own, "objects", "info", "alternates"),
      `${quoted(join(this.#folders.common, "objects"))}\n`,
    );
    await writeFile(join(this.#own, "HEAD"), "ref: refs/heads/none\n");
    await writeFile(join(this.#own, "info", "attributes"), exactAttributes);
    await writeFile(join(this.#own, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    const format = (await this.names(["rev-parse", "--show-object-format"])).output.toString().trim();
    for (const name of ["shallow", "info/exclude", "info/sparse-checkout"])
      for (const folder of [this.#folders.common, this.#folders.git])
        await copyFile(join(folder, name), join(this.#own, name)).catch(ignoreMissing);
    if (format === "sha1") return;
    this.#idLength = 64;
    const config = `[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n`;
    await writeFile(join(this.#own, "config"), config);
  }
}

/** Returns a path as git expects it in a list of paths. A path with a line break needs quotes. */
function quoted(path: string): string {
  return path.includes("\n") ? `"${path.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"` : path;
}

/** Copies a file, if it exists, with no newer time. If a file is as new as the index, git compares its content. */
async function copyWithTime(from: string, to: string): Promise<boolean> {
  try {
    const { atime, mtimeMs } = await stat(from);
    await copyFile(from, to);
    await utimes(to, atime, Math.floor(mtimeMs) / 1_000);
    return true;
  } catch (error) {
    ignoreMissing(error);
    return false;
  }
}

/** @throws the error unless a file does not exist */
export function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/** Returns the settings of a repository and its user, with the outer parts of keys in lower case. @throws GitError */
export async function userSettings(repository: GitRepository): Promise<ReadonlyMap<string, string>> {
  const { output } = await repository.userSettings();
  const fields = output.toString().split("\0");
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    // Settings of this library have the scope of the command line.
    if (fields[at] === "command") continue;
    const [key, value] = settingIn(fields[at + 1] ?? "");
    settings.set(key, value);
  }
  return settings;
}

type Setting = readonly [key: string, value: string];

/** Parses the output of `git config --list -z`. */
export function settingsIn(output: Buffer): readonly Setting[] {
  return splitAtNul(output).map(settingIn);
}

/** Returns variables that disable the hooks in these settings, which git has since version 2.54. @throws GitError */
function withoutHooks(settings: readonly Setting[]): Readonly<Record<string, string>> {
  const names = [...new Set(settings.flatMap(([key]) => /^hook\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []))];
  const unnamed = names.find((name) => name.includes("\uFFFD"));
  if (unnamed !== undefined)
    throw notWritten(`its setting hook.${unnamed} has a name that is not UTF-8, so the hook cannot be disabled`);
  const disabled = names.flatMap((name, at) => [
    [`GIT_CONFIG_KEY_${at}`, `hook.${name}.enabled`],
    [`GIT_CONFIG_VALUE_${at}`, "false"],
  ]);
  return { ...Object.fromEntries(disabled), GIT_CONFIG_COUNT: `${names.length}` };
}

/** Parses a setting in the format of `git config --list -z`. A setting without a value is `true`. */
function settingIn(text: string): Setting {
  const end = text.indexOf("\n");
  return end < 0 ? [text, "true"] : [text.slice(0, end), text.slice(end + 1)];
}

/** @param fallback the value of a missing setting */
export function isOn(settings: ReadonlyMap<string, string>, key: string, fallback: boolean): boolean {
  const value = settings.get(key);
  return value === undefined ? fallback : !["false", "no", "off", "0", ""].includes(value.toLowerCase());
}

export function excludesFile(settings: ReadonlyMap<string, string>): string {
  const file = settings.get("core.excludesfile");
  if (file !== undefined) return file.startsWith("~/") ? join(homedir(), file.slice(2)) : file;
  return join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "git", "ignore");
}

const operations = new Map([
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
  // The directory exists between the commits of an operation with several commits.
  ["sequencer", "a cherry-pick or revert"],
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
]);

/** Returns the operation in progress, such as "a merge", or `undefined`. */
export async function operationInProgress(repository: GitRepository): Promise<string | undefined> {
  for (const [name, operation] of operations)
    if ((await stat(repository.gitPath(name)).catch(() => undefined)) !== undefined) return operation;
  const environment = { GIT_INDEX_FILE: await repository.copyOfIndex() };
  const { output } = await repository.objects(["ls-files", "--unmerged", "-z"], { environment });
  return output.length > 0 ? "a merge" : undefined;
}

/** @param command the intended command, for the message @throws GitError */
export async function assertNothingInProgress(repository: GitRepository, command: string): Promise<void> {
  const operation = await operationInProgress(repository);
  if (operation === undefined) return;
  throw new GitError(command, `${operation} is in progress here; finish or abort it first`);
}
