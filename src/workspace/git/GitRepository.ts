import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertOwnFolders, assertOwnRef, type GitFolders, gitFoldersOf } from "./GitFolders.ts";
import { type GitProgram, gitProgram } from "./gitProgram.ts";
import { checkedId } from "./refName.ts";
import { type GitAnswer, type GitCall, runGit } from "./runGit.ts";

interface ObjectOptions {
  /** Exit codes that are not errors. Default: 0. */
  readonly expected?: readonly number[];
  readonly input?: string | Uint8Array;
  /** Such as `GIT_INDEX_FILE` or `GIT_WORK_TREE`. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Settings of git for this call. */
  readonly settings?: readonly string[];
  /** Writes new objects to the repository. Default: they are removed after the action. */
  readonly keep?: boolean;
}

/** Keeps every byte: converts no line endings, keywords, filters or encodings, whatever `.gitattributes` says. */
const exactAttributes = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n";

/**
 * A repository that is not trusted. Commands that read or write objects, the index or the work tree run in a temporary git
 * folder of our own, which has no hooks, filters or settings and only borrows the objects. In the repository itself git only
 * looks up and sets refs, with hooks off. It is opened for one action, and its temporary folder is removed afterwards.
 */
export class GitRepository {
  readonly #folders: GitFolders;
  readonly #program: GitProgram;
  /** The temporary git folder. */
  readonly #own: string;
  readonly #signal: AbortSignal | undefined;
  #idLength = 40;
  #writable: Promise<void> | undefined;

  private constructor(folders: GitFolders, own: string, signal: AbortSignal | undefined) {
    this.#folders = folders;
    this.#program = gitProgram(process.env["PATH"] ?? "", folders.untrusted);
    this.#own = own;
    this.#signal = signal;
  }

  /** @param folder the root of a work tree, or a folder in it. @throws GitError when there is no repository. */
  static async with<Result>(
    folder: string,
    action: (repository: GitRepository) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const folders = await gitFoldersOf(folder);
    const own = await mkdtemp(join(tmpdir(), "agent-git-"));
    try {
      const repository = new GitRepository(folders, own, signal);
      await repository.#make();
      return await action(repository);
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  }

  /** The root of the work tree. */
  get root(): string {
    return this.#folders.top;
  }

  /** The folder that was opened, relative to the root, with "/" at the end; empty for the root. */
  get prefix(): string {
    return this.#folders.prefix;
  }

  /** What git writes for "no object". */
  get nullId(): string {
    return "0".repeat(this.#idLength);
  }

  /** A temporary folder for the action. */
  get scratch(): string {
    return join(this.#own, "scratch");
  }

  /** A file or folder in the `.git` of the work tree, such as `index` or `MERGE_HEAD`. */
  gitPath(name: string): string {
    return join(this.#folders.git, name);
  }

  /** Refuses to write where the repository is not that of the work tree. @param ref default: no ref is written. @throws GitError */
  async assertWritable(ref?: string): Promise<void> {
    await (this.#writable ??= assertOwnFolders(this.#folders));
    if (ref !== undefined) await assertOwnRef(this.#folders, ref);
  }

  /** A copy of the index of the work tree, for one use. Absent files stay absent. */
  async copyOfIndex(): Promise<string> {
    const folder = await mkdtemp(join(this.scratch, "index-"));
    const [copy, part] = [join(folder, "index"), join(folder, "part")];
    await copyWithTime(this.gitPath("index"), copy);
    const names = await readdir(this.#folders.git);
    for (const name of names.filter((each) => each.startsWith("sharedindex.")))
      // Another command may be reading the copy that is there.
      if (await copyWithTime(this.gitPath(name), part)) await rename(part, join(this.#own, name));
    return copy;
  }

  /** Makes a commit the HEAD of the temporary git folder. */
  async detachAt(commit: string): Promise<void> {
    const file = join(this.scratch, "HEAD");
    await writeFile(file, `${checkedId(commit)}\n`);
    // Other commands that run meanwhile find the one or the other, and never an empty file.
    await rename(file, join(this.#own, "HEAD"));
  }

  /** The commit that is the HEAD of the temporary git folder. */
  async detachedAt(): Promise<string> {
    return checkedId((await readFile(join(this.#own, "HEAD"), "utf8")).trim());
  }

  /** The commits at which a shallow clone ends; empty for a full one. */
  async shallowCommits(): Promise<readonly string[]> {
    const text = await readFile(join(this.#own, "shallow"), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  /** The time of the last fetch, in milliseconds since 1970; `undefined` when it is not known. */
  async fetchedAt(): Promise<number | undefined> {
    const found = await stat(this.gitPath("FETCH_HEAD")).catch(() => undefined);
    return found?.mtimeMs;
  }

  /** Looks up or sets refs, in the repository itself. @throws GitError */
  names(args: readonly string[], expected?: readonly number[]): Promise<GitAnswer> {
    return runGit(this.#call(args, { GIT_DIR: this.#folders.git }), expected);
  }

  /** Works on objects, in the temporary git folder. @throws GitError */
  async objects(
    args: readonly string[],
    { expected, input, environment, keep, settings }: ObjectOptions = {},
  ): Promise<GitAnswer> {
    if (keep) await this.assertWritable();
    const store = keep ? { GIT_OBJECT_DIRECTORY: join(this.#folders.common, "objects") } : {};
    const call = this.#call(args, { GIT_DIR: this.#own, ...store, ...environment });
    return runGit({ ...call, ...(input !== undefined && { input }), ...(settings && { settings }) }, expected);
  }

  /** All settings of the repository and of its user, as `git config --list --show-scope -z` writes them. @throws GitError */
  userSettings(): Promise<GitAnswer> {
    const user = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const { GIT_CONFIG_GLOBAL = "", ...known } = Object.fromEntries(user);
    const call = this.#call(["config", "--list", "--show-scope", "-z"], { GIT_DIR: this.#folders.git, ...known });
    return runGit({ ...call, userConfiguration: GIT_CONFIG_GLOBAL });
  }

  /** Runs an action while the temporary git folder has other attributes than exact ones. */
  async withAttributes<Result>(attributes: string, action: () => Promise<Result>): Promise<Result> {
    const file = join(this.#own, "info", "attributes");
    await writeFile(file, attributes);
    try {
      return await action();
    } finally {
      await writeFile(file, exactAttributes);
    }
  }

  /** Runs an action, with settings under which git keeps no file in a work tree. */
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

  /** The output of {@link objects} as text, without the space around it. @throws GitError */
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
    await writeFile(join(this.#own, "objects", "info", "alternates"), `${join(this.#folders.common, "objects")}\n`);
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

/**
 * Copies a file, if there is one, with a time that is not newer: git compares the content of files that are as new as the
 * index, whose times prove nothing.
 */
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

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
