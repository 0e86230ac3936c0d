import { GitError } from "../../errors/workspace/GitError.ts";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";

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
    const real = await realpath(root).catch(() => root);
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

const timeoutMs = 60_000;
const maximumBytes = 64 * 1024 * 1024;

/** One call of git. */
export interface GitCall {
  /** The command and its arguments. Outside values come after `--end-of-options` or `--`, or were checked. */
  readonly args: readonly string[];
  /** The folder to run in, which no other program writes to. */
  readonly directory: string;
  /** Added to an environment that takes only PATH from the caller. */
  readonly environment: Readonly<Record<string, string>>;
  /** The standard input of git. Default: empty. */
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** The result of a call of git. */
export interface GitAnswer {
  readonly exitCode: number;
  readonly output: Buffer;
}

/**
 * Runs git without a shell, for at most a minute and 64 MB of output. An exit code that is not in `expected` is an error.
 *
 * @throws GitError
 */
export function runGit(call: GitCall, expected: readonly number[] = [0]): Promise<GitAnswer> {
  const [command = ""] = call.args;
  const options = {
    cwd: call.directory,
    env: { ...gitEnvironment(process.env), ...call.environment },
    encoding: "buffer",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: maximumBytes,
    windowsHide: true,
    ...(call.signal && { signal: call.signal }),
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile("git", [...safeSettings, ...call.args], options, (error, output, complaint) => {
      const exitCode = error === null ? 0 : error.code;
      if (call.signal?.aborted) reject(call.signal.reason as Error);
      else if (typeof exitCode === "number" && expected.includes(exitCode)) resolve({ exitCode, output });
      else reject(new GitError(command, reasonOf(error, complaint), { cause: error }));
    });
    // When git ends early it closes its input; its exit code says why.
    child.stdin?.on("error", () => {});
    child.stdin?.end(call.input);
  });
}

function reasonOf(error: { readonly code?: unknown; readonly killed?: boolean } | null, complaint: Buffer): string {
  if (error?.code === "ENOENT") return "git is not installed, or not in PATH";
  if (error?.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return `it wrote more than ${maximumBytes} bytes`;
  if (error?.killed) return `it did not end within ${timeoutMs} ms`;
  const text = complaint.toString().trim();
  return text === "" ? `it ended with ${String(error?.code)}` : text.slice(0, 500);
}

/**
 * The environment of git, built from scratch so that no variable of the caller (`GIT_CONFIG_COUNT`, `GIT_SSH_COMMAND`,
 * `GIT_EXTERNAL_DIFF`, …) has an effect. Relative entries of PATH are dropped: they could find a program in the repository.
 */
export function gitEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const path = (environment["PATH"] ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  const systemRoot = environment["SystemRoot"];
  return {
    PATH: path.join(delimiter),
    ...(systemRoot !== undefined && { SystemRoot: systemRoot }),
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_PAGER: "cat",
    GIT_EDITOR: "false",
  };
}

/** Settings that override those of the repository, for the few commands that read them. */
export const safeSettings: readonly string[] = [
  `core.hooksPath=${devNull}`,
  "core.fsmonitor=false",
  `core.attributesFile=${devNull}`,
  `core.excludesFile=${devNull}`,
  "core.pager=cat",
  "core.sshCommand=false",
  "core.gitProxy=none",
  "credential.helper=",
  "protocol.allow=never",
  "diff.external=",
  "log.showSignature=false",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gpg.program=false",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting]);
