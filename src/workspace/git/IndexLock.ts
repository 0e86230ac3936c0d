import { open, readFile, rename, rm } from "node:fs/promises";
import { GitError } from "../../errors/workspaceErrors.ts";
import { type TreeEntry, updateIndex } from "./gitChanges.ts";
import type { GitRepository } from "./GitRepository.ts";

/** Git's lock of the index of a work tree. While the lock is held, other git commands cannot stage or commit. */
export class IndexLock implements AsyncDisposable {
  readonly #repository: GitRepository;
  readonly #file: string;
  #held = true;

  private constructor(repository: GitRepository, file: string) {
    this.#repository = repository;
    this.#file = file;
  }

  /** @throws GitError if another git command holds the lock or the repository does not belong to the work tree */
  static async take(repository: GitRepository): Promise<IndexLock> {
    await repository.assertWritable();
    const file = repository.gitPath("index.lock");
    try {
      await (await open(file, "wx", 0o644)).close();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const reason =
        code === "EEXIST"
          ? `${JSON.stringify(file)} exists: another git command is running, or one was killed; delete the file if none is running`
          : `${JSON.stringify(file)} could not be created (${code ?? "unknown"})`;
      throw new GitError("update-index", reason, { cause: error });
    }
    return new IndexLock(repository, file);
  }

  /** Sets entries of the index atomically and releases the lock. Other entries are unchanged. */
  async update(entries: readonly TreeEntry[]): Promise<void> {
    await this.prepare(entries);
    await this.put();
  }

  /** Writes a changed index to the lock file. Call `put` to activate it. */
  async prepare(entries: readonly TreeEntry[]): Promise<void> {
    const copy = await this.#repository.copyOfIndex();
    await updateIndex(this.#repository, copy, entries);
    const handle = await open(this.#file, "r+");
    try {
      await handle.writeFile(await readFile(copy));
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Activates the prepared index and releases the lock. */
  async put(): Promise<void> {
    await rename(this.#file, this.#repository.gitPath("index"));
    this.#held = false;
  }

  /** Releases the lock if it is still held. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#held) await rm(this.#file, { force: true });
    this.#held = false;
  }
}
