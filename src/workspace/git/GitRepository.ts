import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { GitError } from "../../errors/workspace/GitError.ts";
import { runGit, type GitAnswer, type GitCall } from "./runGit.ts";

interface GitFolders {
  /** The `.git` of the work tree, with HEAD and the index. */
  readonly git: string;
  /** The folder that all work trees share, with objects and refs. */
  readonly common: string;
}

interface ObjectOptions {
  /** Exit codes that are not errors. Default: 0. */
  readonly expected?: readonly number[];
  readonly input?: string | Uint8Array;
  /** Such as `GIT_INDEX_FILE` or `GIT_WORK_TREE`. */
  readonly environment?: Readonly<Record<string, string>>;
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
  readonly #root: string;
  readonly #folders: GitFolders;
  /** The temporary git folder. */
  readonly #own: string;
  readonly #signal: AbortSignal | undefined;

  private constructor(root: string, folders: GitFolders, own: string, signal: AbortSignal | undefined) {
    this.#root = root;
    this.#folders = folders;
    this.#own = own;
    this.#signal = signal;
  }

  /** @throws GitError when there is no repository at `root`. */
  static async with<Result>(
    root: string,
    action: (repository: GitRepository) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const real = await realpath(root);
    const folders = await foldersOf(real);
    const own = await mkdtemp(join(tmpdir(), "agent-git-"));
    try {
      const repository = new GitRepository(real, folders, own, signal);
      await repository.#make();
      return await action(repository);
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  }

  get root(): string {
    return this.#root;
  }

  /** A temporary folder for the action. */
  get scratch(): string {
    return join(this.#own, "scratch");
  }

  /** The index of the work tree, to be updated after a commit. */
  get indexFile(): string {
    return join(this.#folders.git, "index");
  }

  /** The time of the last fetch, in milliseconds since 1970; `undefined` when it is not known. */
  async fetchedAt(): Promise<number | undefined> {
    const found = await stat(join(this.#folders.git, "FETCH_HEAD")).catch(() => undefined);
    return found?.mtimeMs;
  }

  /** Looks up or sets refs, in the repository itself. @throws GitError */
  names(args: readonly string[], expected?: readonly number[]): Promise<GitAnswer> {
    return runGit(this.#call(args, { GIT_DIR: this.#folders.git }), expected);
  }

  /** Works on objects, in the temporary git folder. @throws GitError */
  objects(args: readonly string[], { expected, input, environment, keep }: ObjectOptions = {}): Promise<GitAnswer> {
    const store = keep ? { GIT_OBJECT_DIRECTORY: join(this.#folders.common, "objects") } : {};
    const call = this.#call(args, { GIT_DIR: this.#own, ...store, ...environment });
    return runGit({ ...call, ...(input !== undefined && { input }) }, expected);
  }

  /** The output of {@link objects} as text, without the space around it. @throws GitError */
  async objectText(args: readonly string[], options?: ObjectOptions): Promise<string> {
    return (await this.objects(args, options)).output.toString().trim();
  }

  #call(args: readonly string[], environment: Readonly<Record<string, string>>): GitCall {
    return {
      args,
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
    if (format === "sha1") return;
    const config = `[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n`;
    await writeFile(join(this.#own, "config"), config);
  }
}

/** Does not ask git, which would also look in the folders above and in the environment. */
async function foldersOf(root: string): Promise<GitFolders> {
  const at = join(root, ".git");
  const found = await stat(at).catch(() => undefined);
  if (found === undefined) throw new GitError("rev-parse", `there is no repository at ${JSON.stringify(root)}`);
  const git = found.isDirectory() ? at : await linkedFolder(root, at);
  const common = await readFile(join(git, "commondir"), "utf8").catch(() => ".");
  return { git, common: resolve(git, common.trim()) };
}

async function linkedFolder(root: string, file: string): Promise<string> {
  const folder = /^gitdir: (.+)\n?$/.exec(await readFile(file, "utf8"))?.[1];
  if (folder === undefined) throw new GitError("rev-parse", `${JSON.stringify(file)} names no repository`);
  return resolve(root, folder);
}
