import { link, lstat, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { GitError } from "../../errors/workspaceErrors.ts";
import { hasEnded, incarnationOf } from "../../nodejs/ProcessIdentity.ts";
import { nodeProcessIdentity } from "../../nodejs/nodeProcessIdentity.ts";
import { type TreeEntry, updateIndex } from "./gitChanges.ts";
import { type GitRepository, ignoreMissing } from "./GitRepository.ts";

/** The largest lock file that is read. A lock of git can contain a whole index. */
const mostHolderBytes = 1_000;

/**
 * Git's lock of the index of a work tree. While the lock is held, other git commands cannot stage or commit. The lock
 * file names its process, so that the next lock can remove the lock of a killed process.
 */
export class IndexLock implements AsyncDisposable {
  readonly #repository: GitRepository;
  readonly #file: string;
  #holder: string;
  #held = true;

  private constructor(repository: GitRepository, file: string, holder: string) {
    this.#repository = repository;
    this.#file = file;
    this.#holder = holder;
  }

  /** @throws GitError if another git command holds the lock or the repository does not belong to the work tree */
  static async take(repository: GitRepository): Promise<IndexLock> {
    await repository.assertWritable();
    const file = repository.gitPath("index.lock");
    const identity = nodeProcessIdentity();
    const { processId } = identity;
    const holder = JSON.stringify({ id: crypto.randomUUID(), processId, incarnation: incarnationOf(identity) });
    const write = () => writeFile(file, holder, { flag: "wx", mode: 0o644 });
    try {
      await write().catch(async (error: unknown) => {
        if (!(await removeLeft(file))) throw error;
        await write();
      });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const reason =
        code === "EEXIST"
          ? `${JSON.stringify(file)} exists: another git command is running, or one was killed; delete the file if none is running`
          : `${JSON.stringify(file)} could not be created (${code ?? "unknown"})`;
      throw new GitError("update-index", reason, { cause: error });
    }
    return new IndexLock(repository, file, holder);
  }

  /**
   * From now on, the lock stays if the process is killed. Call this before HEAD differs from the files.
   *
   * @throws GitError if another program removed the lock
   */
  async stayAfterKill(): Promise<void> {
    await this.#assertHeld();
    const empty = `${this.#file}.${crypto.randomUUID()}`;
    await writeFile(empty, "", { flag: "wx", mode: 0o644 });
    await rename(empty, this.#file);
    this.#holder = "";
  }

  /** Sets entries of the index atomically and releases the lock. Other entries are unchanged. */
  async update(entries: readonly TreeEntry[]): Promise<void> {
    await this.prepare(entries);
    await this.put();
  }

  /** Writes a changed index to a file beside the index. Call `put` to activate it. */
  async prepare(entries: readonly TreeEntry[]): Promise<void> {
    const copy = await this.#repository.copyOfIndex();
    await updateIndex(this.#repository, copy, entries);
    await unlink(this.#prepared).catch(ignoreMissing);
    const handle = await open(this.#prepared, "wx", 0o644);
    try {
      await handle.writeFile(await readFile(copy));
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Activates the prepared index and releases the lock. @throws GitError if another program removed the lock */
  async put(): Promise<void> {
    await this.#assertHeld();
    await rename(this.#prepared, this.#repository.gitPath("index"));
    await this[Symbol.asyncDispose]();
  }

  /** Releases the lock if it is still held. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#held) return;
    this.#held = false;
    // The next prepared index replaces an index that stays here.
    await unlink(this.#prepared).catch(() => {});
    if ((await textOf(this.#file)) === this.#holder) await unlink(this.#file).catch(ignoreMissing);
  }

  async #assertHeld(): Promise<void> {
    if ((await textOf(this.#file)) === this.#holder) return;
    throw new GitError("update-index", `another program removed ${JSON.stringify(this.#file)}`);
  }

  get #prepared(): string {
    return `${this.#file}.next`;
  }
}

/** Removes the lock of a killed process. Returns whether this process removed the lock. */
async function removeLeft(file: string): Promise<boolean> {
  const left = await textOf(file);
  if (left === undefined || !isOfEndedProcess(left)) return false;
  const moved = `${file}.${crypto.randomUUID()}`;
  // Another process that removes the same lock may be faster.
  const isMoved = await rename(file, moved).then(() => true, ignoreMissing);
  if (!isMoved) return false;
  // Another process may have removed the lock and locked the index since.
  const isLeft = (await textOf(moved)) === left;
  if (!isLeft) await link(moved, file).catch(() => {});
  await unlink(moved);
  return isLeft;
}

function isOfEndedProcess(holder: string): boolean {
  try {
    const { processId, incarnation } = JSON.parse(holder) as Readonly<Record<string, unknown>>;
    if (typeof processId !== "number" || typeof incarnation !== "string") return false;
    return hasEnded({ processId, incarnation }, nodeProcessIdentity(), false);
  } catch {
    return false;
  }
}

/** Returns the text of a small file. `undefined` for any other entry, and for a missing one. */
async function textOf(file: string): Promise<string | undefined> {
  const found = await lstat(file).catch(() => undefined);
  if (!found?.isFile() || found.size > mostHolderBytes) return undefined;
  return readFile(file, "utf8").catch(() => undefined);
}
