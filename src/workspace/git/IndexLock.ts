import { lstat, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { GitError } from "../../errors/workspaceErrors.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { systemCode } from "../../nodejs/Disk.ts";
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
    try {
      return new IndexLock(repository, file, await lock(file));
    } catch (error) {
      const code = systemCode(error);
      const reason =
        code === "EEXIST"
          ? `${JSON.stringify(file)} exists: another git command is running, or one was killed; delete the file if none is running`
          : `${JSON.stringify(file)} could not be created (${code || "unknown"})`;
      throw new GitError("update-index", reason, { cause: error });
    }
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

/**
 * Creates a lock file that names this process. Returns its text. Replaces the lock of a killed process.
 *
 * @throws the error of the file system. `EEXIST` if another process holds the lock.
 */
async function lock(file: string): Promise<string> {
  const identity = nodeProcessIdentity();
  const { processId } = identity;
  const holder = JSON.stringify({ id: crypto.randomUUID(), processId, incarnation: incarnationOf(identity) });
  try {
    await create(file, holder);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    await removeLeft(file);
    await create(file, holder);
  }
  return holder;
}

/** Creates a file with a text. If the write fails, such as on a full device, the file is removed. */
async function create(file: string, text: string): Promise<void> {
  await using handle = await open(file, "wx", 0o644);
  try {
    await handle.writeFile(text);
  } catch (error) {
    await unlink(file).catch(() => {});
    throw error;
  }
}

/**
 * Removes the lock of a killed process. Only the process that holds a second lock, named after the text of the first
 * one, may remove the first lock. Otherwise several processes that read the first lock could remove a later lock.
 *
 * @throws an error with the code `EEXIST` if another process removes the lock.
 */
async function removeLeft(file: string): Promise<void> {
  const left = await textOf(file);
  if (left === undefined || !isOfEndedProcess(left)) return;
  const second = `${file}.${nodeSha256.hex(left).slice(0, 16)}`;
  await lock(second);
  try {
    if ((await textOf(file)) === left) await unlink(file).catch(ignoreMissing);
  } finally {
    await unlink(second);
  }
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
